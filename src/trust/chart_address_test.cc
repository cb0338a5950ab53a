#include "trust/chart_address.h"

#include <gtest/gtest.h>

namespace mist::trust {
namespace {

TEST(ChartAddress, HasOneNameHoweverItIsWritten) {
  for (const char* url : {"https://raw.example/myorg/charts", "HTTPS://RAW.Example/myorg/charts",
                          "https://raw.example:443/myorg/charts", "https://raw.example:/myorg/charts",
                          "https://raw.example./myorg/charts", "https://raw.example.:443/myorg/charts/",
                          "https://ann:pw@raw.example/myorg/charts", "https://raw.example//myorg///charts//",
                          "https://raw.example/my%6frg/charts", "https://raw.example/my%6Frg/c%68arts",
                          "https://raw.example/myorg%2Fcharts", "https://raw.example/myorg%2fcharts/?token=x",
                          "https://raw.example/myorg/charts#a"})
    EXPECT_EQ(chart_repository_name(url), "https://raw.example/myorg/charts") << url;
  EXPECT_EQ(chart_repository_name("https://raw.example"), "https://raw.example");
  EXPECT_EQ(chart_repository_name("http://127.0.0.1:08080/stable/"), "http://127.0.0.1:8080/stable");
  EXPECT_EQ(chart_repository_name("https://[2001:DB8::1]/x"), "https://[2001:db8::1]/x");
  // Others stay others.
  for (const char* url : {"http://raw.example/myorg/charts", "https://raw.example:8443/myorg/charts",
                          "https://raw.example/MyOrg/charts", "https://raw.example/myorg%20/charts",
                          "https://raw.example/myorg%2525/charts", "https://raw.example/myorg%2/charts"})
    EXPECT_NE(chart_repository_name(url), "https://raw.example/myorg/charts") << url;
  // An escape is no wildcard, and a wildcard no escape.
  EXPECT_EQ(chart_repository_name("https://raw.example/%2a%2A/**"), "https://raw.example/%2a%2a/**");
}

TEST(ChartAddress, MayNotLeadToAnotherPath) {
  for (const char* url : {"https://raw.example/myorg/../evil/charts", "https://raw.example/myorg/./charts",
                          "https://raw.example/myorg/..", "https://raw.example/myorg/%2e%2e/evil",
                          "https://raw.example/myorg/.%2E/evil", "https://raw.example/myorg%2F..%2Fevil",
                          "https://raw.example/myorg%2f%2e%2e%2fevil", "https://raw.example/myorg/..\\evil",
                          "https://raw.example/myorg%5c..%5Cevil", "https://raw.example/myorg/**/../**"})
    EXPECT_NE(objection_to_chart_address(url), "") << url;
  for (const char* url : {"https://raw.example/myorg/charts", "https://raw.example", "https://raw.example/",
                          "https://raw.example/a..b/.c/...", "https://raw.example/x?to=/../y",
                          "https://gitlab.example/projects/team%2Fshop/helm"})
    EXPECT_EQ(objection_to_chart_address(url), "") << url;
}

}  // namespace
}  // namespace mist::trust
