#include "releases/values.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::releases {
namespace {

class GatherValuesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.put(
        testing::yaml("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\n"
                      "data: {values.yaml: '{a: 1, b: {c: base}}'}"));
    Value secret =
        testing::yaml("apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: default}\ndata: {}");
    secret["data"].set("pass", base64_encode("s3cr3t,x=y"));
    secret["data"].set("values.yaml", base64_encode("db: {password: hunter2hunter2}\n"));
    cluster_.put(secret);
  }
  Result<Gathered> gather(std::vector<ValuesFrom> from, Value own = Value::object()) {
    Spec spec;
    spec.values_from = std::move(from);
    spec.values = std::move(own);
    return gather_values(cluster_, "default", spec, {});
  }
  Value merged(const Gathered& gathered) { return *package::merge_values(gathered.inputs); }

  testing::FakeCluster cluster_;
};

TEST_F(GatherValuesTest, LaterOnesGoOverEarlierOnes) {
  const auto gathered = gather({{.name = "base", .key = "values.yaml"},
                                {.secret = true, .name = "db", .key = "pass", .target_path = "b.c"}},
                               testing::yaml("a: 2\nb: {c: own, d: 1}"));
  ASSERT_TRUE(gathered.ok()) << gathered.error().to_line();
  EXPECT_EQ(merged(*gathered), testing::yaml("a: 2\nb: {c: 's3cr3t,x=y', d: 1}"));
}

TEST_F(GatherValuesTest, HidesWhatCameFromSecretsAndNothingElse) {
  const auto gathered =
      gather({{.name = "base", .key = "values.yaml"}, {.secret = true, .name = "db", .key = "values.yaml"}});
  ASSERT_TRUE(gathered.ok()) << gathered.error().to_line();
  EXPECT_EQ(gathered->hidden.masked("db.password is hunter2hunter2, b.c is base"),
            "db.password is ***, b.c is base");
}

TEST_F(GatherValuesTest, HidesWhatTemplatesMakeOfValuesButNotTheWordsOfADocument) {
  const auto gathered = gather({{.secret = true, .name = "db", .key = "values.yaml"},
                                {.secret = true, .name = "db", .key = "pass", .target_path = "b.c"}});
  ASSERT_TRUE(gathered.ok()) << gathered.error().to_line();
  EXPECT_EQ(gathered->mask.masked("the password HUNTER2HUNTER2, S3CR3T,X=Y"), "the password ***, ***");
}

TEST_F(GatherValuesTest, NamesWhatIsMissing) {
  EXPECT_EQ(gather({{.name = "none", .key = "values.yaml"}}).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(gather({{.secret = true, .name = "db", .key = "other"}}).error().message,
            "the Secret db has no key other");
  const auto gathered = gather({{.name = "none", .key = "values.yaml", .optional = true},
                                {.secret = true, .name = "db", .key = "other", .optional = true}});
  ASSERT_TRUE(gathered.ok());
  EXPECT_EQ(merged(*gathered), Value::object());
}

TEST_F(GatherValuesTest, TellsWhenSomethingWasChanged) {
  const std::vector<ValuesFrom> from{{.name = "base", .key = "values.yaml"}};
  const std::string before = gather(from)->versions;
  EXPECT_EQ(gather(from)->versions, before);
  cluster_.put(
      testing::yaml("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\ndata: "
                    "{values.yaml: 'a: 9'}"));
  EXPECT_NE(gather(from)->versions, before);
}

}  // namespace
}  // namespace mist::releases
