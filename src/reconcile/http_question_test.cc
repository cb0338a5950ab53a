#include "reconcile/http_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using ::testing::HasSubstr;
using testing::yaml;

TEST(HttpQuestion, ReadsWhatAFunctionGives) {
  const auto usual = HttpQuestion::parse(yaml("{service: web}"), "shop");
  ASSERT_TRUE(usual.ok()) << usual.error().to_line();
  EXPECT_EQ(*usual, (HttpQuestion{.target = HttpQuestion::Target::Service,
                                  .ns = "shop",
                                  .name = "web",
                                  .scheme = "http",
                                  .port = "",
                                  .path = "/",
                                  .interval = std::chrono::seconds(30),
                                  .timeout = std::chrono::seconds(5)}));
  const auto all = HttpQuestion::parse(yaml("{pod: web-0, port: metrics, path: '/a/b?c=d%20e', scheme: "
                                            "https, interval: 1m30s, timeout: 500ms}"),
                                       "shop");
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  EXPECT_EQ(all->target, HttpQuestion::Target::Pod);
  EXPECT_EQ(all->port, "metrics");
  EXPECT_EQ(all->path, "/a/b?c=d%20e");
  EXPECT_EQ(all->interval, std::chrono::seconds(90));
}

TEST(HttpQuestion, AsksTheSameOfAPodThatWasReplaced) {
  const auto question = [](std::string_view made) { return *HttpQuestion::parse(yaml(made), "shop"); };
  const HttpQuestion pod = question("{pod: web-1, path: /a}"), service = question("{service: web, path: /a}");
  EXPECT_TRUE(pod.asks_same(question("{pod: web-2, path: /a, interval: 5s, timeout: 1s}")));
  EXPECT_FALSE(pod.asks_same(question("{pod: web-1, path: /b}")));
  EXPECT_FALSE(pod.asks_same(question("{service: web-1, path: /a}")));
  EXPECT_TRUE(service.asks_same(question("{service: web, path: /a, interval: 5s}")));
  EXPECT_FALSE(service.asks_same(question("{service: other, path: /a}")));
}

TEST(HttpQuestion, RefusesWhatReachesElsewhereOrTooOften) {
  for (const auto& [made, says] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"[]", "no record"},
           {"{port: 1}", "neither a service nor a pod"},
           {"{service: a, pod: b}", "neither a service nor a pod"},
           {"{service: a, namespace: kube-system}", "namespace, which isn't known"},
           {"{service: 'a/../../secrets'}", "can't be the name"},
           {"{service: a, port: 0}", "its port"},
           {"{service: a, port: 'x/y'}", "its port"},
           {"{service: a, path: b}", "no path of a URL"},
           {"{service: a, path: '//other/b'}", "no path of a URL"},
           {"{service: a, path: '/a/../../../secrets'}", "no path of a URL"},
           {"{service: a, path: '/a/%2E%2e/secrets'}", "no path of a URL"},
           {"{service: a, path: \"/a b\"}", "no path of a URL"},
           {"{service: a, path: '/a#b'}", "no path of a URL"},
           {"{service: a, scheme: file}", "its scheme"},
           {"{service: a, interval: 10ms}", "its interval"},
           {"{service: a, interval: 5}", "its interval"},
           {"{service: a, timeout: 2h}", "its timeout"}}) {
    const auto refused = HttpQuestion::parse(yaml(made), "shop");
    ASSERT_FALSE(refused.ok()) << made;
    EXPECT_THAT(refused.error().message, HasSubstr(std::string(says))) << made;
  }
}

}  // namespace
}  // namespace mist::reconcile
