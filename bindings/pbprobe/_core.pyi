version: str
commit: str

def render(document: str, colour: bool) -> str: ...
