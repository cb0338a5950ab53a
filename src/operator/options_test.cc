#include "operator/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace mist::operator_ {
namespace {

using ::testing::HasSubstr;

class OperatorOptions : public ::testing::Test {
 protected:
  Result<Options> parse(const std::vector<std::string_view>& arguments) {
    return parse_options(arguments, files);
  }
  std::string refusal(const std::vector<std::string_view>& arguments) {
    const auto options = parse(arguments);
    return options.ok() ? "accepted" : options.error().to_line();
  }
  std::string config(std::string_view text) {
    const Path file = temp.path() / "operator.yaml";
    EXPECT_TRUE(
        files.write(file, fmt::format("apiVersion: mistletoe.dev/v1\nkind: OperatorConfig\n{}", text)).ok());
    return "--config=" + file.string();
  }

  mist::testing::TempDir temp;
  HostFileSystem files;
};

TEST_F(OperatorOptions, AreThoseOfFlags) {
  const auto options = parse({"-n", "apps", "--listen=:8080", "--leader-elect", "--workers", "3", "-v"});
  ASSERT_TRUE(options.ok()) << options.error().to_line();
  EXPECT_EQ(options->ns, "apps");
  EXPECT_EQ(options->listen, ":8080");
  EXPECT_TRUE(options->elect);
  EXPECT_TRUE(options->verbose);
  EXPECT_EQ(options->worker_count(), 3);
  EXPECT_EQ(options->release_worker_count(), 16);
  EXPECT_EQ(options->term(), std::chrono::seconds(15));
  EXPECT_FALSE(options->logs_json());
}

TEST_F(OperatorOptions, FlagsCountOverTheFile) {
  const std::string file =
      config("leaderElect: true\nworkers: 4\nlogFormat: json\nnamespace: apps\nverbose: true\n");
  const auto options = parse({"--namespace=other", file, "--verbose=false"});
  ASSERT_TRUE(options.ok()) << options.error().to_line();
  EXPECT_EQ(options->ns, "other");
  EXPECT_TRUE(options->elect);
  EXPECT_FALSE(options->verbose);
  EXPECT_EQ(options->worker_count(), 4);
  EXPECT_TRUE(options->logs_json());
}

TEST_F(OperatorOptions, NamespacesAreNamedOneByOneAndTheCommandLineReplacesThoseOfTheFile) {
  const std::string file = config("watchNamespaces: [shop, blog]\n");
  EXPECT_THAT(parse({file})->watch_namespaces, ::testing::ElementsAre("shop", "blog"));
  EXPECT_THAT(parse({file, "--watch-namespace=a", "--watch-namespace", "b"})->watch_namespaces,
              ::testing::ElementsAre("a", "b"));
  EXPECT_TRUE(parse({})->watch_namespaces.empty());
  EXPECT_EQ(refusal({"--watch-namespace"}), "--watch-namespace needs a value");
  EXPECT_EQ(refusal({"--watch-namespace="}), "--watch-namespace  is not the name of a namespace");
  EXPECT_EQ(refusal({"--watch-namespace", "a,b"}), "--watch-namespace a,b is not the name of a namespace");
  EXPECT_THAT(refusal({config("watchNamespaces: shop\n")}),
              HasSubstr("watchNamespaces is not a list of texts"));
}

TEST_F(OperatorOptions, OfTheWebhookGoTogether) {
  const auto options =
      parse({"--webhook-listen=:9443", "--webhook-cert", "tls.crt", "--webhook-key", "tls.key"});
  ASSERT_TRUE(options.ok()) << options.error().to_line();
  EXPECT_EQ(options->webhook_listen, ":9443");
  EXPECT_EQ(options->webhook_service, "mistletoe-operator");
  EXPECT_EQ(parse({config("webhookListen: ':1'\nwebhookUrl: https://[::1]:9443\n")})->webhook_url,
            "https://[::1]:9443");
  EXPECT_EQ(refusal({"--webhook-url=https://a"}), "--webhook-url needs --webhook-listen");
  EXPECT_EQ(refusal({"--webhook-listen=:1", "--webhook-cert=a"}),
            "--webhook-cert and --webhook-key need each other");
  EXPECT_EQ(refusal({"--webhook-listen=:1", "--webhook-ca=a"}), "--webhook-ca needs --webhook-cert");
  for (const char* url : {"http://a", "https://", "https://a/b", "https://u@a", "https://:1", "https://a/",
                          "https://a:", "https://a:0", "https://a:65536", "https://[::1", "https://a..[",
                          "HTTPS://a", "https://A", "https://a?b", "https://a#b", "https://a%2eb"})
    EXPECT_THAT(refusal({"--webhook-listen=:1", "--webhook-url", url}),
                HasSubstr("is not https:// with a host"))
        << url;
  EXPECT_THAT(refusal({"--webhook-service=A_b"}), HasSubstr("is not the name of a Service"));
}

TEST_F(OperatorOptions, AFileThatIsWrongNamesItsLine) {
  EXPECT_THAT(refusal({config("leaderElekt: true\n")}),
              ::testing::AllOf(HasSubstr("operator.yaml:3"), HasSubstr("there is no \"leaderElekt\"")));
  EXPECT_EQ(parse({config("leaderElekt: true\n")}).error().hint, "did you mean leaderElect?");
  EXPECT_THAT(refusal({config("leaderElect: sometimes\n")}),
              HasSubstr("leaderElect is neither true nor false"));
  EXPECT_THAT(refusal({config("listen: [a]\n")}), HasSubstr("listen is not text"));
  EXPECT_THAT(refusal({config("crds: true\n")}), HasSubstr("there is no \"crds\""));
  EXPECT_THAT(refusal({config("workers: many\n")}), HasSubstr("--workers many is not a number"));
  EXPECT_THAT(refusal({"--config", (temp.path() / "none").string()}), HasSubstr("while reading"));
  ASSERT_TRUE(files.write(temp.path() / "other.yaml", "a: 1\n").ok());
  EXPECT_THAT(refusal({"--config", (temp.path() / "other.yaml").string()}),
              HasSubstr("is no configuration of the operator"));
}

TEST_F(OperatorOptions, LimitsAreThoseOfMistctlUnlessTheyAreSet) {
  package::RendererOptions usual;
  parse({})->set_limits(usual);
  EXPECT_EQ(usual.engine_limits.memory_bytes, package::kEngineLimits.memory_bytes);
  EXPECT_EQ(usual.engine_limits.guest_time, package::kEngineLimits.guest_time);
  EXPECT_EQ(usual.limits.memory_bytes, wasm::Limits().memory_bytes);
  EXPECT_EQ(usual.engine_limits.flags, wasm::LimitFlags::MemoryAndTime);

  package::RendererOptions set;
  parse({config("limitMemory: 700\nlimitTime: 90s\n")})->set_limits(set);
  for (const wasm::Limits& each : {set.limits, set.engine_limits}) {
    EXPECT_EQ(each.memory_bytes, std::uint64_t{700} << 20);
    EXPECT_EQ(each.guest_time, std::chrono::seconds(90));
    EXPECT_EQ(each.flags, wasm::LimitFlags::MemoryAndTime);
  }
}

TEST_F(OperatorOptions, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal({"--listen"}), "--listen needs a value");
  EXPECT_EQ(refusal({"--nothing"}), "unknown argument --nothing");
  EXPECT_EQ(refusal({"--verbose=maybe"}), "unknown argument --verbose=maybe");
  EXPECT_EQ(refusal({"--lease-duration", "1s"}), "--lease-duration 1s is not 3s or more, in whole seconds");
  EXPECT_EQ(refusal({"--releases", "some"}), "--releases some is neither own nor all");
  EXPECT_EQ(refusal({"--workers", "1001"}), "--workers 1001 is not a number from 1 to 1000");
  EXPECT_EQ(refusal({"--limit-memory", "0"}), "--limit-memory 0 is not a number of MiB from 1 to 4096");
  EXPECT_EQ(refusal({"--limit-time=0s"}), "--limit-time 0s is not a time above 0, such as 90s");
  EXPECT_EQ(refusal({"--log-format", "xml"}), "--log-format xml is neither text nor json");
  EXPECT_EQ(refusal({"--default-service-account", "A b"}),
            "--default-service-account A b is not the name of a ServiceAccount");
}

}  // namespace
}  // namespace mist::operator_
