#include "releases/resource.h"

#include <gtest/gtest.h>

#include <regex>

#include "apimachinery/object.h"
#include "base/fs.h"
#include "encoding/yaml.h"
#include "testing/source_dir.h"
#include "testing/yaml.h"

namespace mist::releases {
namespace {

using namespace std::chrono_literals;

Value release(const std::string& spec) {
  return testing::yaml(
      "metadata: {name: web, namespace: apps, generation: 3}\nspec:\n  package: team/web:1.0.0\n" + spec);
}

std::string fault(const std::string& spec) {
  const auto read = spec_of(release(spec));
  return read.ok() ? "" : read.error().message;
}

TEST(ReleaseResource, TakesDefaultsFromTheObjectItself) {
  const auto spec = spec_of(release(""));
  ASSERT_TRUE(spec.ok()) << spec.error().to_line();
  EXPECT_EQ(spec->package, "team/web:1.0.0");
  EXPECT_EQ(spec->release.display(), "apps/web");
  EXPECT_EQ(spec->interval, 10min);
  EXPECT_EQ(spec->timeout, 5min);
  EXPECT_TRUE(spec->wait);
  EXPECT_TRUE(spec->rollback);
  EXPECT_EQ(spec->retries, 1);
  EXPECT_EQ(spec->history, 10);
  EXPECT_EQ(spec->on_drift, OnDrift::Warn);
  EXPECT_EQ(spec->on_delete, OnDelete::Uninstall);
  EXPECT_FALSE(spec->suspend);
}

// The server stores more levels than are read: a part of the values would be missing.
TEST(ReleaseResource, RefusesWhatNestsTooDeep) {
  const auto nested = [](int levels) {
    Value object = release("");
    Value deep = 1;
    for (int level = 0; level < levels; ++level) deep = Value::object({{"a", deep}});
    object["spec"].set("values", deep);
    return object;
  };
  EXPECT_TRUE(spec_of(nested(500)).ok());
  const auto refused = spec_of(nested(501));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "spec.values nests more than 500 levels deep");
}

TEST(ReleaseResource, ReadsAllThatTheCrdHas) {
  const auto spec = spec_of(release(R"(
  engine: helm
  releaseName: front
  targetNamespace: shop
  createNamespace: true
  serviceAccountName: deployer
  values: {replicas: 3}
  valuesFrom:
    - {kind: ConfigMap, name: base}
    - {kind: Secret, name: db, key: pass, targetPath: db.password, optional: true}
  dependsOn: [{name: db}, {name: queue, namespace: infra}]
  interval: 1h
  timeout: 90s
  wait: false
  drift: Fix
  onDelete: Keep
  prune: {customResourceDefinitions: true, persistentVolumeClaims: true, namespaces: true}
  adopt: true
  replace: true
  forceConflicts: true
  allowLookup: [v1/ConfigMap]
  retries: 0
  rollback: false
  historyLimit: 3
  suspend: true
)"));
  ASSERT_TRUE(spec.ok()) << spec.error().to_line();
  EXPECT_EQ(spec->release.display(), "shop/front");
  EXPECT_EQ(spec->engine, "helm");
  EXPECT_EQ(spec->account, "deployer");
  ASSERT_EQ(spec->values_from.size(), 2U);
  EXPECT_EQ(spec->values_from[0].display(), "ConfigMap base, key values.yaml");
  EXPECT_EQ(spec->values_from[1].display(), "Secret db, key pass");
  EXPECT_EQ(spec->values_from[1].target_path, "db.password");
  EXPECT_TRUE(spec->values_from[1].optional);
  EXPECT_EQ(spec->depends_on, (std::vector<Key>{{"apps", "db"}, {"infra", "queue"}}));
  EXPECT_EQ(spec->interval, 1h);
  EXPECT_EQ(spec->timeout, 90s);
  EXPECT_FALSE(spec->wait);
  EXPECT_EQ(spec->on_drift, OnDrift::Fix);
  EXPECT_EQ(spec->on_delete, OnDelete::Keep);
  EXPECT_TRUE(spec->prune.delete_crds && spec->prune.delete_pvcs && spec->prune.delete_namespaces);
  EXPECT_TRUE(spec->adopt && spec->replace && spec->force_conflicts && spec->create_namespace);
  EXPECT_EQ(spec->lookups.objects, std::vector<std::string>{"v1/ConfigMap"});
  EXPECT_EQ(spec->retries, 0);
  EXPECT_EQ(spec->history, 3);
  EXPECT_FALSE(spec->rollback);
  EXPECT_TRUE(spec->suspend);
}

TEST(ReleaseResource, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(fault("  interval: 1s\n"), "spec.interval \"1s\" is not a duration from 10s to 8784h");
  EXPECT_EQ(fault("  timeout: soon\n"), "spec.timeout \"soon\" is not a duration from 1s to 24h");
  EXPECT_EQ(fault("  timeout: 25h\n"), "spec.timeout \"25h\" is not a duration from 1s to 24h");
  EXPECT_EQ(fault("  drift: Mind\n"), "spec.drift \"Mind\" is none of Warn, Fix, Ignore");
  EXPECT_EQ(fault("  retries: -1\n"), "spec.retries is not a number from 0 to 1000");
  EXPECT_EQ(fault("  wait: sometimes\n"), "spec.wait is neither true nor false");
  EXPECT_EQ(fault("  releaseName: A_B\n"), "spec.releaseName \"A_B\" is not the name of a release");
  EXPECT_EQ(fault("  targetNamespace: a/b\n"), "spec.targetNamespace \"a/b\" is not the name of a namespace");
  EXPECT_EQ(fault("  serviceAccountName: 'a b'\n"),
            "spec.serviceAccountName \"a b\" is not the name of a ServiceAccount");
  EXPECT_EQ(fault("  valuesFrom: [{kind: Pod, name: a}]\n"),
            "spec.valuesFrom has an item whose kind \"Pod\" is none of ConfigMap, Secret");
  EXPECT_EQ(fault("  valuesFrom: [{kind: Secret, name: a, targetPath: 'a['}]\n"),
            "spec.valuesFrom has an item whose targetPath is not the path of a value: an index from 0 on "
            "must follow \"[\"");
  EXPECT_EQ(fault("  valuesFrom:\n  - {kind: Secret, name: a, targetPath: 'a[40000]'}\n"
                  "  - {kind: Secret, name: a, targetPath: 'b[40000]'}\n"),
            "spec.valuesFrom has target paths that need more than 65536 list items together");
  EXPECT_EQ(fault("  valuesFrom: [{kind: Secret, name: a, targetPath: 'a[70000]'}]\n"),
            "spec.valuesFrom has an item whose targetPath is not the path of a value: the index is larger "
            "than 65536");
  EXPECT_EQ(fault("  dependsOn: [{namespace: a}]\n"), "spec.dependsOn has an item whose name is missing");
  EXPECT_EQ(fault("  prune: {namespaces: 1}\n"),
            "spec.prune has a member whose namespaces is neither true nor false");
  EXPECT_EQ(fault("  allowLookup: [v1/Secret]\n"),
            "spec.allowLookup grants no Secrets; spec.allowLookupSecrets does");
  EXPECT_EQ(spec_of(testing::yaml("metadata: {name: web, namespace: apps}\nspec: {}")).error().message,
            "spec.package is missing");
  EXPECT_EQ(spec_of(testing::yaml("metadata: {name: web}")).error().message, "it has no spec");
}

TEST(ReleaseResource, ReadsNoMoreThanDeletionNeeds) {
  const auto ending = [](const std::string& spec) { return spec_of_deletion(release(spec)); };
  const auto spec = ending(
      "  interval: 1s\n  timeout: soon\n  wait: perhaps\n  prune: {namespaces: 1}\n"
      "  serviceAccountName: deployer\n  targetNamespace: shop\n");
  ASSERT_TRUE(spec.ok()) << spec.error().to_line();
  EXPECT_EQ(spec->release.display(), "shop/web");
  EXPECT_EQ(spec->account, "deployer");
  EXPECT_EQ(spec->timeout, 5min);
  EXPECT_TRUE(spec->wait);
  EXPECT_FALSE(spec->prune.delete_namespaces);
  EXPECT_EQ(ending("  timeout: 90s\n")->timeout, 90s);
  EXPECT_TRUE(ending("  prune: {namespaces: true}\n")->prune.delete_namespaces);
  EXPECT_EQ(ending("  serviceAccountName: 'a b'\n").error().message,
            "spec.serviceAccountName \"a b\" is not the name of a ServiceAccount");
  EXPECT_EQ(ending("  targetNamespace: [a]\n").error().message, "spec.targetNamespace is not a text");
  EXPECT_TRUE(ending("  targetNamespace: [a]\n  onDelete: Keep\n").ok());
}

// A mistake that the server can refuse need not be found in a status.
TEST(ReleaseResource, CrdRefusesWhatTheReaderRefuses) {
  const auto crd = encoding::parse_yaml(crd_text());
  ASSERT_TRUE(crd.ok());
  const Value& version = crd->at_path({"spec", "versions"})->as_array().front();
  const Value& fields = *version.at_path({"schema", "openAPIV3Schema", "properties", "spec", "properties"});
  const auto admits = [&](std::string_view field, const std::string& text) {
    const Value& schema = *fields.find(field);
    const Value* const items = schema.find("items");
    return std::regex_search(text, std::regex(std::string((items ? *items : schema).string_at("pattern"))));
  };
  for (const std::string_view field : {"interval", "timeout"}) {
    for (const char* text : {"10m", "1h30m", "+90s", "1.5h", ".5h", "1.h"}) {
      EXPECT_TRUE(admits(field, text)) << text;
      EXPECT_EQ(fault(fmt::format("  {}: '{}'\n", field, text)), "") << text;
    }
    for (const char* text : {"soon", "", "-1h", "10", "1d", "1h ", "h"}) {
      EXPECT_FALSE(admits(field, text)) << text;
      EXPECT_NE(fault(fmt::format("  {}: '{}'\n", field, text)), "") << text;
    }
    EXPECT_NE(fields.find(field)->find("x-kubernetes-validations"), nullptr);
  }
  for (const auto& [field, text] :
       std::initializer_list<std::pair<std::string, std::string>>{{"releaseName", "A_B"},
                                                                  {"releaseName", "a.b"},
                                                                  {"targetNamespace", "a/b"},
                                                                  {"targetNamespace", "-a"},
                                                                  {"serviceAccountName", "a b"},
                                                                  {"serviceAccountName", "a..b"}}) {
    EXPECT_FALSE(admits(field, text)) << field;
    EXPECT_NE(fault(fmt::format("  {}: '{}'\n", field, text)), "") << field;
    EXPECT_TRUE(admits(field, "") && admits(field, "a-1")) << field;
  }
  for (const char* text : {"*", ".", "shop", "shop/Pod", "./Deployment.apps/web", "*/*", "*/*/x"}) {
    EXPECT_TRUE(admits("allowLookup", text)) << text;
    EXPECT_EQ(fault(fmt::format("  allowLookup: ['{}']\n", text)), "") << text;
  }
  for (const char* text : {"", "A", "a/", "a/b/", "a/b/c/d", "a/b_c", "a/*.apps"}) {
    EXPECT_FALSE(admits("allowLookup", text)) << text;
    EXPECT_NE(fault(fmt::format("  allowLookup: ['{}']\n", text)), "") << text;
  }
  EXPECT_TRUE(admits("allowLookupSecrets", "shop/db") && admits("allowLookupSecrets", "."));
  EXPECT_FALSE(admits("allowLookupSecrets", "shop/db/x") || admits("allowLookupSecrets", "A"));
}

// Else an operator that the package installs can't write its status.
TEST(ReleaseResource, ThePackageOfTheOperatorHasTheSameCrd) {
  const auto packaged =
      HostFileSystem().read(testing::source_dir() / "packages/mistletoe-operator/src/release.crd.yaml");
  ASSERT_TRUE(packaged.ok()) << packaged.error().to_line();
  EXPECT_EQ(*packaged, crd_text());
}

// The CRD's text and the reader agree about defaults and words.
TEST(ReleaseResource, ReadsTheDefaultsOfItsCrd) {
  const auto crd = encoding::parse_yaml(crd_text());
  ASSERT_TRUE(crd.ok()) << crd.error().to_line();
  EXPECT_EQ(crd->string_at({"metadata", "name"}), "releases.mistletoe.dev");
  EXPECT_EQ(crd->string_at({"spec", "group"}), kGroup);
  const Value& version = crd->at_path({"spec", "versions"})->as_array().front();
  EXPECT_EQ(version.string_at("name"), kVersion);
  const Value* const fields =
      version.at_path({"schema", "openAPIV3Schema", "properties", "spec", "properties"});
  ASSERT_NE(fields, nullptr);
  Value defaults = Value::object({{"package", "team/web:1.0.0"}});
  for (const Value::Member& field : fields->as_object()) {
    EXPECT_FALSE(field.key != "valuesFrom" && field.key != "dependsOn" &&
                 field.value.find("type") == nullptr);
    if (const Value* const value = field.value.find("default")) defaults.set(field.key, *value);
    for (const Value& word :
         field.value.find("enum") == nullptr ? Value::Array() : field.value.find("enum")->as_array())
      EXPECT_EQ(fault("  " + field.key + ": " + word.as_string() + "\n"), "");
  }
  Value object = release("");
  const auto implied = spec_of(object);
  object.set("spec", defaults);
  const auto written = spec_of(object);
  ASSERT_TRUE(implied.ok() && written.ok());
  EXPECT_EQ(implied->interval, written->interval);
  EXPECT_EQ(implied->timeout, written->timeout);
  EXPECT_EQ(implied->wait, written->wait);
  EXPECT_EQ(implied->on_drift, written->on_drift);
  EXPECT_EQ(implied->on_delete, written->on_delete);
  EXPECT_EQ(implied->retries, written->retries);
  EXPECT_EQ(implied->rollback, written->rollback);
  EXPECT_EQ(implied->history, written->history);
  EXPECT_EQ(implied->suspend, written->suspend);
}

}  // namespace
}  // namespace mist::releases
