#include "cli/argocd_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

Result<ArgoRequest> read(std::map<std::string, std::string, std::less<>> variables) {
  return ArgoRequest::read([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}
Result<ArgoRequest> with_parameters(std::string text) {
  return read({{"ARGOCD_APP_PARAMETERS", std::move(text)}});
}

// The values that a package gets of them.
Result<std::string> merged(std::string text, const std::vector<ArgoInput>& known = {},
                           package::Numbers numbers = package::Numbers::AsWritten) {
  MIST_TRY(const ArgoRequest request, with_parameters(std::move(text)));
  MIST_TRY(const auto inputs, argo_values(request, known));
  MIST_TRY(const encoding::Value values, package::merge_values(inputs, numbers));
  return encoding::to_json(values, encoding::JsonStyle::Exact);
}
std::string values_of(std::string text, const std::vector<ArgoInput>& known = {},
                      package::Numbers numbers = package::Numbers::AsWritten) {
  const auto values = merged(std::move(text), known, numbers);
  return values.ok() ? *values : values.error().to_line();
}

ArgoInput input(std::string name, ArgoItem item, ArgoCollection collection = ArgoCollection::One) {
  return {.name = std::move(name),
          .title = {},
          .description = {},
          .collection = collection,
          .item = item,
          .fallback = {}};
}

TEST(ArgoRequest, ReadsWhatArgoCdWrites) {
  const auto request = with_parameters(
      R"([{"name":"package","string":"./web"},{"name":"values","array":["a.yaml","../b.yaml"]},
          {"name":"set","map":{"image.tag":"1.2"}},{"name":"hosts","array":[]},{"name":"x","string":""}])");
  ASSERT_TRUE(request.ok()) << request.error().to_line();
  EXPECT_TRUE(request->names_plugin);
  EXPECT_EQ(request->package, "./web");
  EXPECT_THAT(request->values, ElementsAre("a.yaml", "../b.yaml"));
  EXPECT_THAT(request->set, ElementsAre(Pair("image.tag", "1.2")));
  EXPECT_THAT(request->inputs, ElementsAre(Pair("hosts", ArgoTexts(std::vector<std::string>())),
                                           Pair("x", ArgoTexts(std::string()))));
}

TEST(ArgoRequest, APluginSectionWithoutParametersIsNull) {
  EXPECT_TRUE(with_parameters("null")->names_plugin);
  EXPECT_FALSE(read({})->names_plugin);
}

TEST(ArgoRequest, ParametersWinOverTheEnvironment) {
  const auto request = read({{"ARGOCD_ENV_PACKAGE", "./one"},
                             {"ARGOCD_ENV_VALUES", "a.yaml, b.yaml\n\nc.yaml\n"},
                             {"ARGOCD_ENV_SET", "a=1\nb= x=y \n"},
                             {"ARGOCD_APP_PARAMETERS", R"([{"name":"package","string":"./two"},
                                 {"name":"values","array":["d.yaml"]},{"name":"set","map":{"a":"2"}}])"}});
  ASSERT_TRUE(request.ok()) << request.error().to_line();
  EXPECT_EQ(request->package, "./two");
  EXPECT_THAT(request->values, ElementsAre("a.yaml", "b.yaml", "c.yaml", "d.yaml"));
  EXPECT_THAT(request->set, ElementsAre(Pair("a", "2"), Pair("b", " x=y ")));
  EXPECT_THAT(read({{"ARGOCD_ENV_SET", "a"}}).error().message, HasSubstr("without \"=\""));
}

TEST(ArgoRequest, RefusesWhatIsNoParameter) {
  for (const std::string_view bad :
       {"{", "{}", "[1]", "[{}]", R"([{"name":""}])", R"([{"name":1,"string":"a"}])", R"([{"name":"a"}])",
        R"([{"name":"a","string":1}])", R"([{"name":"a","array":"b"}])", R"([{"name":"a","array":[1]}])",
        R"([{"name":"a","map":["b"]}])", R"([{"name":"a","map":{"b":null}}])",
        R"([{"name":"a","string":"b","array":[]}])",
        R"([{"name":"a","string":"b"},{"name":"a","string":"c"}])",
        R"([{"name":"package","array":["./web"]}])", R"([{"name":"values","string":"a.yaml"}])",
        R"([{"name":"set","string":"a=b"}])", R"([{"name":"set","map":{"":"b"}}])"}) {
    const auto request = with_parameters(std::string(bad));
    ASSERT_FALSE(request.ok()) << bad;
    EXPECT_EQ(request.error().kind, ErrorKind::Invalid) << bad;
  }
}

TEST(ArgoRequest, ErrorsShowNoControlCharacters) {
  const auto twice =
      with_parameters(R"([{"name":"a\n\u001b[2J","string":"b"},{"name":"a\n\u001b[2J","string":"c"}])");
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().to_line(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(values_of(R"([{"name":"a\nb","string":"c"}])"), HasSubstr("control characters"));
  EXPECT_THAT(values_of(R"([{"name":"set","map":{"a\nb":"c"}}])"), HasSubstr("control characters"));
  EXPECT_THAT(values_of(R"([{"name":"m","map":{"a\nb":"c"}}])"), HasSubstr("control characters"));
}

TEST(ArgoValues, HaveTheTypesOfTheInputs) {
  const std::vector<ArgoInput> known{input("tag", ArgoItem::Text),
                                     input("size", ArgoItem::Number),
                                     input("ratio", ArgoItem::Number),
                                     input("on", ArgoItem::Boolean),
                                     input("ports", ArgoItem::Number, ArgoCollection::List),
                                     input("names", ArgoItem::Text, ArgoCollection::List),
                                     input("labels", ArgoItem::Text, ArgoCollection::Map)};
  EXPECT_EQ(values_of(R"([{"name":"tag","string":"1"},{"name":"size","string":"1000000"},
                          {"name":"ratio","string":"0.5"},{"name":"on","string":"true"},
                          {"name":"ports","array":["80","443"]},{"name":"names","array":["1","a,b"]},
                          {"name":"labels","map":{"a.b/c":"1"}},{"name":"other","string":"7"}])",
                      known),
            R"({"names":["1","a,b"],"ratio":0.5,"on":true,"other":7,"ports":[80,443],"size":1000000,)"
            R"("labels":{"a.b/c":"1"},"tag":"1"})");
  EXPECT_EQ(values_of(R"([{"name":"size","string":"many"}])", known), R"({"size":"many"})")
      << "the schema says what is wrong";
}

TEST(ArgoValues, OfChartsKeepWholeNumbers) {
  EXPECT_EQ(values_of(R"([{"name":"set","map":{"size":"1000000"}},{"name":"ports","array":["80"]}])", {},
                      package::Numbers::AsHelm),
            R"({"size":1000000,"ports":[80]})");
}

TEST(ArgoValues, OneTextNeverSetsASecondValue) {
  EXPECT_EQ(values_of(R"([{"name":"set","map":{"a":"1,b=2","c":"{x,y}","d":"back\\slash","e":"{"}}])"),
            R"({"a":"1,b=2","c":"{x,y}","d":"back\\slash","e":"{"})");
  EXPECT_EQ(values_of(R"([{"name":"l","array":["x}","{y","z,w","\\"]}])"), R"({"l":["x}","{y","z,w","\\"]})");
  EXPECT_EQ(values_of(R"([{"name":"l","array":[]},{"name":"m","array":["","1"]}])"),
            R"({"l":[],"m":["","1"]})");
  EXPECT_THAT(values_of(R"([{"name":"a: 1, b","string":"c"}])"),
              StartsWith("\",\" isn't expected in a path"));
  EXPECT_EQ(values_of(R"([{"name":"a: b","string":"c"},{"name":"{x: y}","string":"z"}])"),
            R"({"a: b":"c","{x: y}":"z"})");
  EXPECT_THAT(values_of(R"([{"name":"a=b","string":"c"}])"), HasSubstr("isn't expected in a path"));
}

TEST(ArgoValues, AreSetOnce) {
  EXPECT_THAT(values_of(R"([{"name":"a","string":"1"},{"name":"set","map":{"a":"2"}}])"),
              HasSubstr("set the same value"));
  EXPECT_THAT(values_of(R"([{"name":"a b","string":"1"},{"name":"a\\ b","string":"2"}])"),
              HasSubstr("set the same value"));
}

TEST(ArgoRequest, AnApplicationsNameBecomesThatOfARelease) {
  EXPECT_EQ(argo_release_name("team-a_web.eu"), "team-a-web-eu");
}

TEST(ArgoRequest, TheRepositoryIsAboveTheApplicationsDirectory) {
  EXPECT_EQ(argo_repository("/tmp/x/apps/shop", "apps/shop"), "/tmp/x");
  EXPECT_EQ(argo_repository("/tmp/x/apps/shop/", "./apps//shop/"), "/tmp/x");
  EXPECT_EQ(argo_repository("/tmp/x", "."), "/tmp/x");
  EXPECT_EQ(argo_repository("/tmp/x", ""), "/tmp/x");
  EXPECT_EQ(argo_repository("/tmp/x/shop", "apps/shop"), "/tmp/x/shop") << "a part of the repository";
  EXPECT_EQ(argo_repository("/tmp/x", "../tmp/x"), "/tmp/x");
  EXPECT_EQ(argo_repository("/tmp/x", "/tmp/x"), "/tmp/x");
}

TEST(ArgoRequest, PrefixesEndWhereNamesEnd) {
  EXPECT_TRUE(argo_allows("oci://a.example/team", "oci://a.example/team/web:1"));
  EXPECT_TRUE(argo_allows("oci://a.example/team/web", "oci://a.example/team/web:1"));
  EXPECT_TRUE(argo_allows("oci://a.example/team/web", "oci://a.example/team/web@sha256:00"));
  EXPECT_TRUE(argo_allows("oci://a.example", "oci://a.example/web"));
  EXPECT_TRUE(argo_allows("oci://a.example/team/web:1", "oci://a.example/team/web:1"));
  EXPECT_TRUE(argo_allows("mistletoe/", "mistletoe/web:1"));
  EXPECT_FALSE(argo_allows("oci://a.example/team", "oci://a.example/teams/web:1"));
  EXPECT_FALSE(argo_allows("oci://a.example", "oci://a.example:5000/web")) << "another server";
  EXPECT_FALSE(argo_allows("https://a.example", "https://a.example@b.example/web")) << "another server";
  EXPECT_FALSE(argo_allows("git+https://a.example/team", "git+https://a.example/team/../other"));
  EXPECT_FALSE(argo_allows("git+https://a.example/team", "git+https://a.example/team/%2e%2e/other"));
  EXPECT_FALSE(argo_allows("", "oci://a.example/web"));
  EXPECT_TRUE(argo_allows("*", "oci://a.example/web"));
}

}  // namespace
}  // namespace mist::cli
