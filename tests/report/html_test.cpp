// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests of HTML pages without a browser; tests/report/pages uses one.
#include "probes/report/text.hpp"

#include <regex>

#include <gmock/gmock.h>

#include "probes/report/attest.hpp"
#include "probes/report/html/chart.hpp"
#include "probes/report/html/document.hpp"
#include "tests/report/documents.hpp"

namespace pbprobe::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr size_t kMaxBytes = 500'000;

TEST(HtmlWriter, EscapesForeignText) {
  html::Writer writer;
  {
    const auto element = writer.open("p", {{"class", R"(a" onload='x')"}});
    writer.text("<b>&\"' \x1b[31m\xE2\x80\xAE");
    writer.add_empty("br", {});
  }
  EXPECT_EQ(std::move(writer).take(),
            "<p class=\"a&quot; onload=&#39;x&#39;\">&lt;b&gt;&amp;&quot;&#39; ?[31m?<br/></p>");
}

// Also above every ceiling, and without ceilings. A point outside of the range is drawn at its edge.
TEST(RooflineChart, ContainsEachPoint) {
  const auto point = [](double gflops) {
    return RoofPoint{.who = "k", .dtype = "fp32", .intensity = 10, .gflops = gflops, .low = gflops, .high = gflops};
  };
  Roof roof{
      .device = "CPU", .gb_per_s = {}, .ceilings = {{.name = "fma", .gflops = 100}}, .points = {point(2), point(5000)}};
  for (const size_t ceilings : {1, 0}) {
    roof.ceilings.resize(ceilings);
    html::Writer writer;
    html::add_roofline(writer, roof);
    const std::string page = std::move(writer).take();
    const std::regex range(R"re(class="range" d="M\S+ (\S+)V(\S+)")re");
    int count = 0;
    for (std::sregex_iterator at(page.begin(), page.end(), range), end; at != end; ++at, ++count) {
      EXPECT_GT(std::stod((*at)[2]), 27) << "top of the picture: " << (*at)[0];
      EXPECT_LT(std::stod((*at)[1]), 381) << "its bottom: " << (*at)[0];
    }
    EXPECT_EQ(count, 2);
  }
}

TEST(HtmlWriter, WritesShortCoordinates) {
  EXPECT_EQ(html::decimal(12.5), "12.5");
  EXPECT_EQ(html::decimal(100), "100");
  EXPECT_EQ(html::decimal(-0.001), "0");
  EXPECT_EQ(html::exact(0.1), "0.1");
}

TEST(Scale, PlacesRoundTicksWithinRange) {
  EXPECT_EQ(html::Scale(0, 10, 0, 100).ticks(), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(html::Scale(0.5, 2000, 0, 100, true).ticks(), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(html::Scale(0, 10, 0, 100).at(5), 50);
  EXPECT_EQ(html::Scale(1, 100, 0, 100, true).at(10), 50);
  EXPECT_EQ(html::Scale(0, 10, 0, 100).at(20), 100) << "outside values are drawn at the edge";
}

TEST(HtmlDocument, OmitsAndNamesTooLargeData) {
  Json data{{"small", 1}, {"large", Json::array()}};
  for (int i = 0; i < 30000; ++i) data["large"].push_back("some twenty characters");
  const std::string page = html::Document("t").finish(data, {"/large"}, "made by a test");
  EXPECT_LT(page.size(), kMaxBytes);
  EXPECT_THAT(page, AllOf(HasSubstr(R"({"small":1,"large":[]})"),
                          HasSubstr("The data in this page omit large, because the page would be too large")));
  data["large"] = Json::array({"</script><script>"});
  const std::string small = html::Document("t").finish(data, {"/large"}, "made by a test");
  EXPECT_THAT(small, AllOf(HasSubstr(R"(["\u003c/script\u003e\u003cscript\u003e"])"),
                           Not(HasSubstr("The data in this page omit"))));
}

TEST(HtmlDocument, PrintsCountOfOmittedRows) {
  html::Document page("t");
  html::Table table{.caption = "c", .head = {"n"}, .most_rows = 2};
  for (int i = 0; i < 5; ++i) table.rows.push_back({{std::to_string(i), text::Colour::none, {}}});
  page.add(table);
  EXPECT_THAT(std::move(page).finish(Json::object(), {}, "f"),
              AllOf(HasSubstr(">1</th>"), Not(HasSubstr(">2</th>")), HasSubstr("and 3 more rows")));
}

TEST(Html, RendersEveryRecordedReport) {
  for (const auto& report : {h200_document(), gb10_document(), no_gpu_document(), pascal_document(),
                             eight_gpus_document(), no_torch_document()}) {
    const std::string page = render_html(report);
    EXPECT_LT(page.size(), kMaxBytes);
    EXPECT_THAT(page, HasSubstr(html::escaped(report.verdict->reason)));
    EXPECT_THAT(page, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href=\"h")), Not(HasSubstr("url("))));
  }
}

TEST(Html, ShowsFiguresOfBaselineAndComparison) {
  Report report = h200_document();
  report.baseline = beside({area_gain("softmax", "cuda:0", 1.05, 1.15), area_gain("sort", "cpu", 0.8, 0.9)});
  EXPECT_THAT(render_html(report),
              AllOf(HasSubstr("class=\"sgood\""), HasSubstr("class=\"sbad\""), HasSubstr("1.10×")));
  const ComparisonList list{
      {{.before = "a<b",
        .after = "c",
        .facts = {{.about = "SM", .change = Change::lost, .what = "sm_90", .regressed = true}},
        .figures = {{.what = "mm", .times = 0.5, .low = 0.4, .high = 0.6, .shift = Shift::slower}}}}};
  EXPECT_THAT(render_html(list),
              AllOf(HasSubstr("a&lt;b"), HasSubstr("sm_90"), HasSubstr("0.50×"), HasSubstr("slower")));
  EXPECT_THAT(render_markdown(list), AllOf(HasSubstr("| SM | lost | sm_90 | regressed |"),
                                           HasSubstr("| mm | 0.50 | 0.40 to 0.60 | slower |")));
}

}  // namespace
}  // namespace pbprobe::test
