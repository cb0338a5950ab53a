// The index of a chart repository: a version on the first line, the index.yaml after it.
#include "registry/chart_repository.h"
#include "targets.h"
#include "testing/fake_transport.h"

namespace mist::fuzz {

void chart_index(std::string_view bytes) {
  Input input(bytes);
  const std::string version(input.line());
  testing::FakeTransport web;
  web.reply(200, std::string(input.rest())).otherwise([](const http::Request& request, const Context&) {
    if (!request.url.starts_with("https://")) fail("a chart from elsewhere than https", request.url);
    return http::Response{.status = 200, .body = "the archive"};
  });
  const auto chart =
      registry::fetch_chart(web, {"https://charts.example.com/stable", "web", version, false}, Context());
  if (!chart.ok()) return check_error(chart.error());
  if (chart->unchecked() != "the archive") fail("another archive", chart->unchecked());
}

}  // namespace mist::fuzz
