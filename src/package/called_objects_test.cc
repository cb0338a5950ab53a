#include "package/called_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"
#include "package/guests_for_tests.h"

namespace mist::package {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kService = "kind: Service\napiVersion: v1\nmetadata: {name: db}\n";
constexpr std::string_view kConfig =
    "kind: ConfigMap\napiVersion: v1\nmetadata: {name: settings}\ndata: {a: '1'}\n";

std::string result_of(std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
  Value all = Value::object();
  for (const auto& [path, text] : files) all.set(path, text);
  return encoding::to_json(
      Value::object({{"apiVersion", "mistletoe.dev/v1"},
                     {"kind", "MistResult"},
                     {"data", Value::object({{"result", "Ok"}, {"files", std::move(all)}})}}));
}

std::shared_ptr<const ResolvedPackage> called_package(std::string id, Source source,
                                                      Dependencies dependencies = {}) {
  source.dependencies = std::move(dependencies);
  return std::make_shared<const ResolvedPackage>(ResolvedPackage{std::move(id), std::move(source)});
}

RenderRequest shop_request() {
  RenderRequest request;
  request.release_name = "shop";
  request.user_values = Value::object();
  request.capabilities = [] { return Result<Capabilities>(Capabilities{"v1.36.0", {"v1"}}); };
  return request;
}

// Calls `db`, and gives `result`, whatever it was answered.
Rendered rendered_by_caller(const std::string& result, std::shared_ptr<const ResolvedPackage> database) {
  Source source = described(asking_and_saying(R"({"op":"package.call","package":"db"})", result), "platform",
                            "{dependencies: [{name: db, package: test/db}]}");
  source.dependencies = {{"db", std::move(database)}};
  NullEventSink events;
  Renderer renderer({}, events);
  auto rendered = renderer.render(source, shop_request(), {});
  EXPECT_TRUE(rendered.ok()) << rendered.error().to_line();
  return rendered.ok() ? *std::move(rendered) : Rendered{};
}

std::vector<std::string> places(const Rendered& rendered) {
  std::vector<std::string> texts;
  for (const apimachinery::RenderedObject& each : rendered.objects)
    texts.push_back(fmt::format("{}: {}", each.object.key().name, each.place().text()));
  return texts;
}

std::shared_ptr<const ResolvedPackage> plain_yaml() {
  return called_package(
      "test/db", Source{"./db", "db", "", "sha256:7", Files{{"all/db.yaml", std::string(kService)}}, "yaml"});
}

TEST(CalledObjects, AFileThatIsPassedOnKeepsTheLinesOfItsAuthor) {
  const Rendered rendered =
      rendered_by_caller(result_of({{"mine.yaml", kConfig}, {"db/x.yaml", kService}}), plain_yaml());
  EXPECT_THAT(places(rendered),
              ElementsAre("db: all/db.yaml:1 of platform → db", "settings: mine.yaml:1 (rendered)"));
}

TEST(CalledObjects, AnObjectThatTheCallerChangedIsStillTheCalledPackages) {
  const std::string changed =
      std::string(kConfig) + "---\n" +
      "kind: Service\napiVersion: v1\nmetadata: {name: db, labels: {a: b}, namespace: shop}\n";
  const Rendered rendered = rendered_by_caller(result_of({{"all.yaml", changed}}), plain_yaml());
  EXPECT_THAT(places(rendered),
              ElementsAre("settings: all.yaml:1 (rendered)", "db: all.yaml:6 (rendered) of platform → db"));
}

TEST(CalledObjects, AnObjectWithAnotherNameIsTheCallers) {
  const Rendered rendered = rendered_by_caller(
      result_of({{"all.yaml", "kind: Service\napiVersion: v1\nmetadata: {name: other}\n"}}), plain_yaml());
  EXPECT_THAT(places(rendered), ElementsAre("other: all.yaml:1 (rendered)"));
}

TEST(CalledObjects, TheInnermostPackageMadeIt) {
  const auto inner = called_package("test/store", saying(kService));
  Source middle = described(asking_and_saying(R"({"op":"package.call","package":"store"})",
                                              result_of({{"deep/stdout.yaml", kService}})),
                            "db", "{dependencies: [{name: store, package: test/store}]}");
  const Rendered rendered = rendered_by_caller(
      result_of({{"x.yaml", kService}}), called_package("test/db", std::move(middle), {{"store", inner}}));
  EXPECT_THAT(places(rendered), ElementsAre("db: stdout.yaml:1 (rendered) of platform → db → store"));
}

std::string service_in(std::string_view ns) {
  return fmt::format("kind: Service\napiVersion: v1\nmetadata: {{name: db, namespace: {}}}\n", ns);
}

TEST(CalledObjects, AnObjectInAnotherNamespaceIsOfWhoMadeItForAny) {
  Source middle = described(
      asking_and_saying(R"({"op":"package.call","package":"store"})", result_of({{"db.yaml", kService}})),
      "db", "{dependencies: [{name: store, package: test/store}]}");
  const Rendered rendered = rendered_by_caller(
      result_of(
          {{"x.yaml", fmt::format("{}---\n{}---\n{}", service_in("inner"), service_in("other"), kService)}}),
      called_package("test/db", std::move(middle),
                     {{"store", called_package("test/store", saying(service_in("inner")))}}));
  EXPECT_THAT(places(rendered), ElementsAre("db: x.yaml:1 (rendered) of platform → db → store",
                                            "db: x.yaml:5 (rendered) of platform → db",
                                            "db: x.yaml:9 (rendered) of platform → db → store"));
}

// Each with each would be two thousand million comparisons.
TEST(CalledObjects, ManyThatBearOneNameAreNotComparedWithEachOther) {
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += service_in("theirs") + "---\n";
  Source source{"./db", "db", "", "sha256:8", Files{{"db.yaml", std::move(many)}}, "yaml"};
  Rendered rendered = rendered_by_caller(result_of({{"x.yaml", service_in("mine")}}),
                                         called_package("test/db", std::move(source)));
  ASSERT_EQ(rendered.objects.size(), 1U);
  ASSERT_TRUE(rendered.calls);
  std::vector<apimachinery::RenderedObject> objects(100'000, rendered.objects.front());
  attribute_changed(objects, *rendered.calls);
  EXPECT_EQ(objects.back().package, "");
}

TEST(CalledObjects, ThePathLeadsToThePackage) {
  Source root;
  root.dependencies = {
      {"db", called_package("test/db", saying(""), {{"store", called_package("test/store", saying(""))}})}};
  EXPECT_EQ(called_source(root, ""), &root);
  EXPECT_EQ(called_source(root, "platform → db → store"),
            &root.dependencies.at("db")->source.dependencies.at("store")->source);
  EXPECT_EQ(called_source(root, "platform → none"), nullptr);
}

}  // namespace
}  // namespace mist::package
