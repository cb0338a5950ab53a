#include "render/answers.h"

#include <gtest/gtest.h>

#include <variant>

#include "package/module_section.h"
#include "render/recorded_options.h"
#include "testing/yaml.h"

namespace mist::render {
namespace {

using encoding::Value;
using ::mist::testing::yaml;

release::Revision revision_with(std::string_view values, const Answers& answers) {
  release::Revision revision;
  revision.user_values = yaml(std::string(values));
  revision.options = to_value(RecordedOptions{.answers = answers});
  return revision;
}

const Answers kAnswers{{{"domain", false}, {"tls.key", true}}};

constexpr std::string_view kKubeMetadata =
    "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: kube},"
    " spec: {engine: jinja, engineDigest: 'sha256:1'}}";

package::Source source_of(std::variant<wasm::ModuleBytes, package::Files> content) {
  return {.reference = "./kube", .name = "kube", .version = "", .digest = "", .content = std::move(content)};
}

package::Source kube() {
  return source_of(package::Files{{"K3.yaml", ""}, {std::string(package::kPreInstallScript), ""}});
}

package::Source thin_kube(const package::Files& files) {
  const auto bare = package::module_of_files(files);
  EXPECT_TRUE(bare.ok()) << bare.error().to_line();
  auto module = package::with_metadata(*bare, kKubeMetadata, "mistletoe.yaml");
  EXPECT_TRUE(module.ok()) << module.error().to_line();
  return source_of(wasm::ModuleBytes(*std::move(module)));
}

TEST(Answers, AreRepeatedWhereAScriptAsks) {
  const auto stored = revision_with("{domain: a.example}", {{{"domain", false}}});
  const auto values_for = [&](const package::Source& source) {
    const auto values = with_answers(yaml("{replicas: 3}"), &stored, source);
    EXPECT_TRUE(values.ok()) << values.error().to_line();
    return values.ok() ? *values : Value();
  };
  const Value repeated = yaml("{replicas: 3, domain: a.example}");
  EXPECT_EQ(values_for(kube()), repeated);
  EXPECT_EQ(values_for(thin_kube(std::get<package::Files>(kube().content))), repeated);
  EXPECT_EQ(values_for(source_of(package::Files{{"Chart.yaml", ""}})), yaml("{replicas: 3}"));
  EXPECT_EQ(values_for(thin_kube({{"K3.yaml", ""}})), yaml("{replicas: 3}"));
  const auto broken = with_answers(yaml("{}"), &stored, source_of(wasm::ModuleBytes("no module")));
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().kind, ErrorKind::Invalid);
}

TEST(Answers, AreRepeatedUnlessOthersAreGiven) {
  const auto with_stored = [](Value values, const release::Revision* revision) {
    return *with_answers(std::move(values), revision, kube());
  };
  const auto stored = revision_with("{domain: a.example, replicas: 3, tls: {key: k, other: 1}}", kAnswers);
  EXPECT_EQ(with_stored(yaml("{replicas: 4}"), &stored),
            yaml("{replicas: 4, domain: a.example, tls: {key: k}}"))
      << "values that nobody asked for are as they are given";
  EXPECT_EQ(with_stored(yaml("{domain: b.example, tls: {key: new}}"), &stored),
            yaml("{domain: b.example, tls: {key: new}}"));
  EXPECT_EQ(with_stored(yaml("{domain: null, tls: plain}"), &stored), yaml("{domain: null, tls: plain}"))
      << "null asks again, and what is no object stays";
  EXPECT_EQ(with_stored(yaml("{a: 1}"), nullptr), yaml("{a: 1}"));
}

TEST(Answers, OfAnEarlierRevisionStayWithTheirValues) {
  const Answers earlier{{{"domain", true}, {"gone", true}, {"nothing", true}, {"tls.key", true}}};
  Answers now{{{"name", false}, {"domain", false}}};
  now.keep(earlier, yaml("{name: a, domain: a.example, tls: {key: k}, nothing: null}"));
  EXPECT_EQ(now, (Answers{{{"domain", false}, {"name", false}, {"tls.key", true}}}))
      << "of those that are asked for, the script knows whether they are secret";
}

TEST(Answers, SecretOnesAreHidden) {
  auto revision = revision_with("{domain: a.example, tls: {key: k}}", kAnswers);
  hide_answers(revision);
  EXPECT_EQ(revision.user_values, yaml("{domain: a.example, tls: {key: '***'}}"));
  auto without = revision_with("{domain: a.example}", kAnswers);
  hide_answers(without);
  EXPECT_EQ(without.user_values, yaml("{domain: a.example}"));
}

}  // namespace
}  // namespace mist::render
