#include "apply/fields/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apply/fields/empty_first.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

std::vector<std::string> paths(std::string_view desired, std::string_view live) {
  std::vector<std::string> result;
  for (const FieldDifference& difference : differences(yaml(desired), yaml(live), "mistctl"))
    result.push_back(difference.path);
  return result;
}

constexpr std::string_view kLive = R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: u1
  generation: 3
  managedFields:
  - manager: mistctl
    operation: Apply
    fieldsV1:
      f:spec:
        f:replicas: {}
        f:template:
          f:spec:
            f:containers:
              k:{"name":"web"}:
                .: {}
                f:name: {}
                f:image: {}
                f:resources: {f:limits: {f:cpu: {}}}
                f:ports:
                  k:{"containerPort":80,"protocol":"TCP"}: {.: {}, f:containerPort: {}}
  - manager: other
    operation: Apply
    fieldsV1: {f:spec: {f:paused: {}}}
spec:
  replicas: 2
  paused: true
  template:
    spec:
      containers:
      - name: sidecar
        image: injected
      - name: web
        image: nginx:1
        imagePullPolicy: IfNotPresent
        resources: {limits: {cpu: 500m}}
        ports: [{containerPort: 80, protocol: TCP}]
status: {replicas: 2}
)";

TEST(Differences, DefaultsInjectionsAndOtherManagersAreNone) {
  EXPECT_THAT(paths(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, creationTimestamp: null}
spec:
  replicas: 2
  template: {spec: {containers: [{name: web, image: "nginx:1", resources: {limits: {cpu: 0.5}}, ports: [{containerPort: 80}]}]}}
)",
                    kLive),
              IsEmpty());
}

TEST(Differences, NameTheFieldInsideAKeyedList) {
  EXPECT_THAT(paths(R"(
spec:
  replicas: 3
  template: {spec: {containers: [{name: web, image: "nginx:2", resources: {limits: {cpu: 500m}}, ports: [{containerPort: 80}]}]}}
)",
                    kLive),
              ElementsAre(".spec.replicas", ".spec.template.spec.containers[name=web].image"));
}

TEST(Differences, ItemsWhoseKeyTheServerFilledInAreFound) {
  constexpr std::string_view kCustom =
      "{apiVersion: g.example/v1, kind: K, metadata: {managedFields: [{manager: mistctl, operation: Apply, "
      "fieldsV1: {f:ports: {'k:{\"port\":53,\"proto\":\"TCP\"}': {.: {}, f:name: {}, f:port: {}}, "
      "'k:{\"port\":53,\"proto\":\"UDP\"}': {.: {}, f:name: {}, f:port: {}, f:proto: {}}}}}]}, ports: "
      "[{port: "
      "53, proto: TCP, name: a}, {port: 53, proto: UDP, name: b}]}";
  EXPECT_THAT(paths("{ports: [{port: 53, name: a}, {port: 53, proto: UDP, name: b}]}", kCustom), IsEmpty());
  EXPECT_THAT(paths("{ports: [{port: 53, name: c}, {port: 53, proto: UDP, name: b}]}", kCustom),
              ElementsAre(".ports[port=53,proto=TCP].name"));
  // It may be either.
  EXPECT_THAT(paths("{ports: [{port: 53, name: a}]}", kCustom),
              ElementsAre(".ports[port=53,proto=TCP]", ".ports[port=53,proto=UDP]", ".ports[0]"));
}

TEST(Differences, WhatWeOwnAndNoLongerWantIsOne) {
  EXPECT_THAT(
      paths("spec: {replicas: 2, template: {spec: {containers: [{name: web, image: 'nginx:1'}]}}}", kLive),
      ElementsAre(".spec.template.spec.containers[name=web].resources",
                  ".spec.template.spec.containers[name=web].ports"));
}

TEST(Differences, RenamedContainerIsARemovalAndAnAddition) {
  EXPECT_THAT(
      paths("spec: {replicas: 2, template: {spec: {containers: [{name: app, image: 'nginx:1'}]}}}", kLive),
      ElementsAre(".spec.template.spec.containers[name=web]", ".spec.template.spec.containers[0]"));
}

TEST(Differences, AtomicListsCompareElementByElement) {
  constexpr std::string_view kAtomic =
      "spec: {args: [a, b]}\nmetadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:spec: {f:args: {}}}}]}";
  EXPECT_THAT(paths("spec: {args: [a, b]}", kAtomic), IsEmpty());
  EXPECT_THAT(paths("spec: {args: [a, c]}", kAtomic), ElementsAre(".spec.args[1]"));
  EXPECT_THAT(paths("spec: {args: [a]}", kAtomic), ElementsAre(".spec.args"));
}

TEST(Differences, SetsCompareByValueAndOrder) {
  constexpr std::string_view kSet =
      "metadata: {finalizers: [b, a, theirs], managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:metadata: {f:finalizers: {'v:\"a\"': {}, 'v:\"b\"': {}}}}}]}";
  EXPECT_THAT(paths("metadata: {finalizers: [b, a]}", kSet), IsEmpty());
  EXPECT_THAT(paths("metadata: {finalizers: [a, b]}", kSet), ElementsAre(".metadata.finalizers"));
  EXPECT_THAT(paths("metadata: {finalizers: [a]}", kSet), ElementsAre(".metadata.finalizers[]"));
}

TEST(Differences, EmptiedMapRemovesWhatWeOwned) {
  constexpr std::string_view kData =
      "data: {a: '1', theirs: '2'}\nmetadata: {managedFields: [{manager: mistctl, operation: Apply, "
      "fieldsV1: {f:data: {f:a: {}}}}]}";
  EXPECT_THAT(paths("data: {}", kData), ElementsAre(".data.a"));
  EXPECT_THAT(paths("metadata: {}", kData), ElementsAre(".data"));
}

TEST(Differences, QuantitiesCountOnlyWhereTheSchemaHasThem) {
  const auto in = [](std::string_view kind, std::string_view value) {
    return fmt::format("{{{}, {}}}", kind, value);
  };
  const auto found = [&](std::string_view kind, std::string_view wanted, std::string_view live) {
    return paths(in(kind, wanted), in(kind, live));
  };
  constexpr std::string_view kMap = "apiVersion: v1, kind: ConfigMap", kPod = "apiVersion: v1, kind: Pod";
  EXPECT_THAT(found(kMap, "data: {max: '1.1'}", "data: {max: '1.10'}"), ElementsAre(".data.max"));
  EXPECT_THAT(found(kMap, "data: {value: '007', default: 1Gi}", "data: {value: '7', default: 1024Mi}"),
              ElementsAre(".data.value", ".data.default"));
  EXPECT_THAT(found(kPod, "spec: {containers: [{env: [{name: V, value: '1.10'}]}]}",
                    "spec: {containers: [{env: [{name: V, value: '1.1'}]}]}"),
              ElementsAre(".spec.containers[0].env[0].value"));
  EXPECT_THAT(found(kPod, "metadata: {labels: {limits: '1'}}", "metadata: {labels: {limits: '1.0'}}"),
              ElementsAre(".metadata.labels.limits"));
  EXPECT_THAT(found(kPod, "spec: {containers: [{resources: {requests: {memory: 1024Mi, cpu: 0.5}}}]}",
                    "spec: {containers: [{resources: {requests: {memory: 1Gi, cpu: 500m}}}]}"),
              IsEmpty());
  // The same amount in other units is stored as it is written.
  EXPECT_THAT(found(kPod, "spec: {overhead: {memory: 1Gi}}", "spec: {overhead: {memory: '1073741824'}}"),
              ElementsAre(".spec.overhead.memory"));
  EXPECT_THAT(found("apiVersion: x.dev/v1, kind: Pod", "spec: {overhead: {cpu: 0.5}}",
                    "spec: {overhead: {cpu: 500m}}"),
              ElementsAre(".spec.overhead.cpu"));
}

TEST(Differences, NumbersCompareToTheLastDigitAndNotWithTexts) {
  const auto found = [](std::string_view wanted, std::string_view live) {
    return paths(fmt::format("{{apiVersion: x.dev/v1, spec: {{v: {}}}}}", wanted),
                 fmt::format("{{apiVersion: x.dev/v1, spec: {{v: {}}}}}", live));
  };
  EXPECT_THAT(found("9007199254740993", "9007199254740992"), ElementsAre(".spec.v"));
  EXPECT_THAT(found("9007199254740993", "9007199254740992.0"), ElementsAre(".spec.v"));
  EXPECT_THAT(found("18446744073709551615", "18446744073709551614"), ElementsAre(".spec.v"));
  EXPECT_THAT(found("1.0", "1"), IsEmpty());
  EXPECT_THAT(found("1.5", "1"), ElementsAre(".spec.v"));
  EXPECT_THAT(found("'80'", "80"), ElementsAre(".spec.v"));
  EXPECT_THAT(found("80", "'80'"), ElementsAre(".spec.v"));
}

// The paths that differ because another manager changed what we want empty, or as a whole.
std::vector<std::string> tampered(std::string_view wanted, std::string_view live, std::string_view theirs) {
  return paths(fmt::format("{{apiVersion: x.dev/v1, spec: {}}}", wanted),
               fmt::format("{{apiVersion: x.dev/v1, spec: {}, metadata: {{managedFields: [{{manager: eve, "
                           "operation: Update, fieldsV1: {{'f:spec': {}}}}}]}}}}",
                           live, theirs));
}

TEST(Differences, WhatIsWantedEmptyAndIsOwnedAsAWholeByAnotherIsOne) {
  EXPECT_THAT(tampered("{ingress: []}", "{ingress: [{}]}", "{'f:ingress': {}}"),
              ElementsAre(".spec.ingress"));
  EXPECT_THAT(tampered("{sel: {}}", "{sel: {matchLabels: {a: b}}}", "{'f:sel': {}}"),
              ElementsAre(".spec.sel.matchLabels"));
  EXPECT_THAT(tampered("{sel: {m: {a: b}}}", "{sel: {m: {a: b, c: d}}}", "{'f:sel': {}}"),
              ElementsAre(".spec.sel.m.c"));
  EXPECT_THAT(tampered("{rules: [{a: '1'}]}", "{rules: [{a: '1', verbs: [x]}]}", "{'f:rules': {}}"),
              ElementsAre(".spec.rules[0].verbs"));
}

TEST(Differences, WhatOthersHaveInMapsAndListsThatAreOwnedByPartsIsTheirs) {
  EXPECT_THAT(tampered("{labels: {}}", "{labels: {x: y}}", "{'f:labels': {.: {}, 'f:x': {}}}"), IsEmpty());
  EXPECT_THAT(tampered("{ports: [{port: 2}]}", "{ports: [{port: 1}]}",
                       "{'f:ports': {'k:{\"port\":1}': {.: {}, 'f:port': {}}}}"),
              ElementsAre(".spec.ports[0]"));
  EXPECT_THAT(tampered("{ports: [{port: 1, v: a}]}", "{ports: [{port: 1, v: b, x: z}]}",
                       "{'f:ports': {'k:{\"port\":1}': {.: {}, 'f:port': {}, 'f:v': {}, 'f:x': {}}}}"),
              ElementsAre(".spec.ports[port=1].v"));
  EXPECT_THAT(tampered("{set: [b]}", "{set: [a, b]}", "{'f:set': {'v:\"a\"': {}}}"), IsEmpty());
}

TEST(Differences, AListOfACustomResourceThatIsWantedEmptyHasNoRoomForOthers) {
  EXPECT_THAT(tampered("{ports: []}", "{ports: [{port: 1}]}", "{'f:ports': {'k:{\"port\":1}': {.: {}}}}"),
              ElementsAre(".spec.ports"));
  EXPECT_THAT(tampered("{set: []}", "{set: [a]}", "{'f:set': {'v:\"a\"': {}}}"), ElementsAre(".spec.set"));
}

TEST(Differences, InsideOfAWholeARemovalIsOneWhoeverOwnsIt) {
  const Value live = yaml(
      "{apiVersion: x.dev/v1, spec: {sel: {a: b}}, metadata: {managedFields: [{manager: eve, operation: "
      "Update, fieldsV1: {'f:spec': {'f:sel': {}}}}]}}");
  const auto found = differences(yaml("{apiVersion: x.dev/v1, spec: {sel: {}}}"), live, "mistctl");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].managers, ElementsAre("eve"));
  EXPECT_FALSE(found[0].stays_with_others());
  EXPECT_TRUE(with_differences(live, found).at_path({"spec", "sel"})->empty());
}

TEST(Differences, EmptyMapsAndListsThatAreNotThereAre) {
  EXPECT_THAT(paths("{apiVersion: networking.k8s.io/v1, spec: {from: [{podSelector: {}}]}}",
                    "{apiVersion: networking.k8s.io/v1, spec: {from: [{}]}}"),
              ElementsAre(".spec.from[0].podSelector"));
}

TEST(Differences, FalseZeroAndEmptyAreNotStoredByBuiltInTypes) {
  constexpr std::string_view kPod =
      "{apiVersion: v1, kind: Pod, metadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:spec: {f:hostNetwork: {}, f:priority: {}, f:hostname: {}}}}]}, spec: {nodeName: a}}";
  EXPECT_THAT(paths("{apiVersion: v1, spec: {hostNetwork: false, priority: 0, hostname: ''}}", kPod),
              IsEmpty());
  EXPECT_THAT(paths("{apiVersion: v1, spec: {hostNetwork: true, priority: 0, hostname: ''}}", kPod),
              ElementsAre(".spec.hostNetwork"));
  // Never applied before: it may be a field where false isn't absent.
  EXPECT_THAT(
      paths("{apiVersion: v1, spec: {hostNetwork: false, priority: 0, hostname: '', hostIPC: false}}", kPod),
      ElementsAre(".spec.hostIPC"));
  constexpr std::string_view kCustom =
      "{apiVersion: x.dev/v1, kind: X, metadata: {managedFields: [{manager: mistctl, operation: Apply, "
      "fieldsV1: "
      "{f:spec: {f:flag: {}}}}]}, spec: {a: b}}";
  EXPECT_THAT(paths("{apiVersion: x.dev/v1, spec: {flag: false}}", kCustom), ElementsAre(".spec.flag"));
}

constexpr std::string_view kWhole =
    "{apiVersion: v1, kind: Pod, metadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
    "{f:spec: {f:fieldRef: {}}}}]}, spec: {fieldRef: {apiVersion: v1, fieldPath: a, extra: b}}}";

TEST(Differences, InsideOfWhatIsOwnedAsAWholeTheServerSaysWhetherALeftoverGoes) {
  const auto found =
      differences(yaml("{apiVersion: v1, spec: {fieldRef: {fieldPath: a}}}"), yaml(kWhole), "mistctl");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, ".spec.fieldRef.apiVersion");
  EXPECT_EQ(found[1].path, ".spec.fieldRef.extra");
  for (const FieldDifference& difference : found) EXPECT_TRUE(difference.uncertain);
  EXPECT_THAT(paths("{apiVersion: v1, spec: {fieldRef: {apiVersion: v1, fieldPath: a, extra: b}}}", kWhole),
              IsEmpty());
}

TEST(Differences, BytesAreComparedDecoded) {
  EXPECT_THAT(paths("{apiVersion: v1, kind: Secret, data: {a: \"aGVs\\nbG8=\"}}",
                    "{apiVersion: v1, kind: Secret, data: {a: aGVsbG8=}}"),
              IsEmpty());
}

TEST(Differences, OrderOfOurItemsInAKeyedListCounts) {
  constexpr std::string_view kEnv =
      "{apiVersion: v1, kind: Pod, metadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:env: {'k:{\"name\":\"A\"}': {.: {}, f:name: {}}, 'k:{\"name\":\"B\"}': {.: {}, f:name: {}}}}}]}, "
      "env: "
      "[{name: A}, {name: X}, {name: B}]}";
  EXPECT_THAT(paths("{apiVersion: v1, env: [{name: A}, {name: B}]}", kEnv), IsEmpty());
  const Value live = yaml(kEnv);
  const auto found =
      differences(yaml("{apiVersion: v1, env: [{name: B}, {name: A, value: x}]}"), live, "mistctl");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, ".env");
  EXPECT_EQ(found[1].path, ".env[name=A].value");
  const Value after = with_differences(live, found);
  EXPECT_EQ(after.find("env")->as_array()[0].string_at("name"), "B");
  EXPECT_EQ(after.find("env")->as_array()[1].string_at("name"), "X");
  EXPECT_EQ(after.find("env")->as_array()[2].string_at("value"), "x");
}

// A server may answer anything.
TEST(Differences, WhatIsNoSetOfFieldsOwnsNothing) {
  constexpr std::string_view kLiveText =
      "{{apiVersion: g.example/v1, kind: K, metadata: {{managedFields: [{{manager: mistctl, operation: "
      "Apply, fieldsV1: "
      "{}}}, {{manager: other, operation: Apply, fieldsV1: {{'f:b': {{'v:\"x\"': {{}}}}}}}}]}}, a: {{c: 1}}, "
      "b: [x]}}";
  for (const char* owned :
       {"{'f:a': 5, 'f:b': 5}", "{'f:a': [1], 'f:b': [1]}", "{'f:a': text, 'f:b': true}"}) {
    const std::string live = fmt::format(kLiveText, owned);
    EXPECT_THAT(paths("{apiVersion: g.example/v1, kind: K, a: {c: 1}, b: [x]}", live), IsEmpty()) << owned;
  }
}

// Lists and maps of many entries, which nobody may scan for each of their own.
TEST(Differences, OfManyEntriesAreThoseOfFew) {
  constexpr int kMany = 20'000;
  const auto item = [](int number, int port) {
    return Value::object({{"name", fmt::format("n{}", number)}, {"containerPort", port}});
  };
  Value::Array wanted, stored;
  Value data = Value::object(), owned_items = Value::object(), owned_data = Value::object();
  for (int i = 0; i < kMany; ++i) {
    wanted.push_back(item(i, 80));
    stored.push_back(item(i, i == kMany - 1 ? 81 : 80));
    data.as_object().push_back({fmt::format("k{}", i), "v"});
    owned_items.as_object().push_back(
        {fmt::format(R"(k:{{"name":"n{}"}})", i),
         Value::object({{"f:name", Value::object()}, {"f:containerPort", Value::object()}})});
    owned_data.as_object().push_back({fmt::format("f:k{}", i), Value::object()});
  }
  Value live =
      Value::object({{"apiVersion", "example.com/v1"}, {"kind", "Web"}, {"data", data}, {"ports", stored}});
  Value set = Value::array(), owned_set = Value::object();
  for (int i = 0; i < kMany; ++i) {
    set.push_back(fmt::format("s{}", i));
    owned_set.as_object().push_back({fmt::format("v:\"s{}\"", i), Value::object()});
  }
  live.set("set", set);
  live["metadata"].set(
      "managedFields",
      Value::array({Value::object({{"manager", "mistctl"},
                                   {"operation", "Apply"},
                                   {"fieldsV1", Value::object({{"f:data", std::move(owned_data)},
                                                               {"f:ports", std::move(owned_items)},
                                                               {"f:set", std::move(owned_set)}})}})}));
  Value desired = live;
  desired.erase("metadata");
  desired.set("ports", wanted);
  desired.find("data")->as_object().back().value = "w";
  desired.find("set")->as_array().pop_back();
  std::vector<std::string> found;
  for (const FieldDifference& each : differences(desired, live, "mistctl")) found.push_back(each.path);
  EXPECT_THAT(found, ElementsAre(".data.k19999", ".ports[name=n19999].containerPort", ".set[]"));
}

TEST(Differences, NameWhoElseOwnsTheField) {
  const auto found =
      differences(yaml("{apiVersion: apps/v1, spec: {replicas: 2, paused: false, template: {spec: "
                       "{containers: [{name: web, image: 'nginx:1', resources: {limits: {cpu: 500m}}, "
                       "ports: [{containerPort: 80}]}]}}}}"),
                  yaml(kLive), "mistctl");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, ".spec.paused");
  EXPECT_THAT(found[0].managers, ElementsAre("other"));
}

// A custom resource, whose spec managers own as `fields` says.
std::vector<FieldDifference> of_custom(std::string_view wanted, std::string_view live,
                                       std::string_view fields) {
  const auto object = [](std::string_view metadata, std::string_view spec) {
    return yaml(
        fmt::format("{{apiVersion: example.com/v1, kind: Gate, metadata: {}, spec: {}}}", metadata, spec));
  };
  return differences(object("{}", wanted), object(fmt::format("{{managedFields: {}}}", fields), live),
                     "mistctl");
}
std::string owned_by(std::string_view manager, std::string_view operation, std::string_view spec) {
  return fmt::format("{{manager: {}, operation: {}, fieldsV1: {{f:spec: {}}}}}", manager, operation, spec);
}

TEST(Emptied, IsAListOfACustomResourceWhoeverOwnsItsItems) {
  const std::string ours = owned_by("mistctl", "Apply", "{f:allow: {'v:\"alice\"': {}}}");
  const std::string theirs = owned_by("kubectl-patch", "Update", "{f:allow: {'v:\"mallory\"': {}}}");
  const auto last = of_custom("{allow: []}", "{allow: [alice]}", fmt::format("[{}]", ours));
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].path, ".spec.allow");
  EXPECT_TRUE(last[0].empties);
  EXPECT_FALSE(last[0].uncertain);
  EXPECT_THAT(last[0].managers, IsEmpty());
  const auto filled = of_custom("{allow: []}", "{allow: [everyone]}", "[]");
  ASSERT_EQ(filled.size(), 1U);
  EXPECT_TRUE(filled[0].empties);
  const auto tampered = of_custom("{allow: []}", "{allow: [mallory]}", fmt::format("[{}]", theirs));
  ASSERT_EQ(tampered.size(), 1U);
  EXPECT_TRUE(tampered[0].empties);
  EXPECT_THAT(tampered[0].managers, ElementsAre("kubectl-patch"));
  const auto some = of_custom("{allow: [bob]}", "{allow: [alice]}", fmt::format("[{}]", ours));
  EXPECT_TRUE(std::ranges::none_of(some, &FieldDifference::empties));
}

TEST(Emptied, IsAMapThatLosesItsLastMember) {
  const std::string ours = owned_by("mistctl", "Apply", "{f:sel: {f:a: {}}}");
  const auto last = of_custom("{sel: {}}", "{sel: {a: x}}", fmt::format("[{}]", ours));
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].path, ".spec.sel.a");
  EXPECT_TRUE(last[0].empties);
  // With its last owned member an apply takes the map, and what nobody owns in it.
  const auto defaulted = of_custom("{sel: {}}", "{sel: {a: x, b: y}}", fmt::format("[{}]", ours));
  ASSERT_EQ(defaulted.size(), 1U);
  EXPECT_TRUE(defaulted[0].empties);
  const std::string theirs = owned_by("other", "Apply", "{f:sel: {f:a: {}}}");
  const auto shared = of_custom("{sel: {}}", "{sel: {a: x}}", fmt::format("[{}, {}]", ours, theirs));
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_TRUE(shared[0].stays_with_others());
  EXPECT_FALSE(shared[0].empties);
}

TEST(Emptied, IsAMapInWhichOnlyEmptyListsStay) {
  const std::string ours = owned_by("mistctl", "Apply", "{f:sel: {f:a: {}}}");
  const auto rest = of_custom("{sel: {l: []}}", "{sel: {a: x}}", fmt::format("[{}]", ours));
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[1].path, ".spec.sel.a");
  EXPECT_TRUE(rest[1].empties);
  const auto owned = of_custom("{sel: {l: [], b: 1}}", "{sel: {a: x}}", fmt::format("[{}]", ours));
  EXPECT_TRUE(std::ranges::none_of(owned, &FieldDifference::empties));
}

TEST(Emptied, IsNothingThatApplyingEmpties) {
  const auto whole = of_custom("{allow: []}", "{allow: [alice]}",
                               fmt::format("[{}]", owned_by("mistctl", "Apply", "{f:allow: {}}")));
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_FALSE(whole[0].empties);
  constexpr std::string_view kOwned =
      "{apiVersion: v1, kind: ServiceAccount, metadata: {managedFields: [{manager: mistctl, operation: "
      "Apply, "
      "fieldsV1: {'f:imagePullSecrets': {'k:{\"name\":\"a\"}': {.: {}, 'f:name': {}}}}}]}, "
      "imagePullSecrets: [{name: a}]}";
  const auto built_in = differences(yaml("{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: []}"),
                                    yaml(kOwned), "mistctl");
  ASSERT_EQ(built_in.size(), 1U);
  EXPECT_FALSE(built_in[0].empties);
}

TEST(SameObject, IsSoWhateverTheOrderOfItsManagers) {
  const auto owned = [](std::string_view entries) {
    return yaml(
        fmt::format("{{apiVersion: v1, metadata: {{resourceVersion: '1', managedFields: [{}]}}}}", entries));
  };
  constexpr std::string_view kA = "{manager: a, operation: Apply, time: '1', fieldsV1: {'f:x': {}}}";
  constexpr std::string_view kLater = "{manager: a, operation: Apply, time: '2', fieldsV1: {'f:x': {}}}";
  constexpr std::string_view kMore = "{manager: a, operation: Apply, time: '1', fieldsV1: {'f:y': {}}}";
  constexpr std::string_view kB =
      "{manager: b, operation: Apply, subresource: status, fieldsV1: {'f:z': {}}}";
  const Value live = owned(fmt::format("{}, {}", kA, kB));
  EXPECT_TRUE(same_object(live, owned(fmt::format("{}, {}", kB, kLater)), ""));
  EXPECT_FALSE(same_object(live, owned(fmt::format("{}, {}", kB, kMore)), ""));
  EXPECT_FALSE(same_object(live, owned(kA), ""));
}

// With the default for a rolling update; `owners` are managedFields.
Value with_default_strategy(std::string_view kind, std::string_view field, std::string_view owners) {
  Value live = yaml(fmt::format(
      "{{apiVersion: apps/v1, kind: {}, metadata: {{name: web, managedFields: [{}]}}}}", kind, owners));
  live["spec"].set(std::string(field), yaml("{type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}"));
  return live;
}

TEST(Differences, AnotherStrategyTakesAwayWhatTheServerFilledInForTheOldOne) {
  for (const auto& [kind, field, type] : {std::array{"Deployment", "strategy", "Recreate"},
                                          std::array{"StatefulSet", "updateStrategy", "OnDelete"}}) {
    const Value live = with_default_strategy(kind, field, "");
    const Value wanted =
        yaml(fmt::format("{{apiVersion: apps/v1, kind: {}, spec: {{{}: {{type: {}}}}}}}", kind, field, type));
    const auto found = differences(wanted, live, "mistctl");
    EXPECT_EQ(with_differences(live, emptied_among(found))["spec"][field],
              yaml(fmt::format("{{type: {}}}", type)));
    EXPECT_THAT(found, ::testing::SizeIs(2)) << kind;
    // A union of another kind isn't known, and one of the same type keeps its default.
    EXPECT_THAT(emptied_among(differences(wanted, with_default_strategy("DaemonSet", field, ""), "mistctl")),
                IsEmpty());
    const Value same = yaml(
        fmt::format("{{apiVersion: apps/v1, kind: {}, spec: {{{}: {{type: RollingUpdate}}}}}}", kind, field));
    EXPECT_THAT(differences(same, live, "mistctl"), IsEmpty());
  }
}

TEST(Differences, ARollingUpdateThatSomebodyOwnsIsInConflictWithAnotherStrategy) {
  const Value live = with_default_strategy("Deployment", "strategy",
                                           "{manager: edit, operation: Update, fieldsV1: {f:spec: "
                                           "{f:strategy: {f:rollingUpdate: {f:maxSurge: {}}}}}}");
  const auto found = differences(
      yaml("{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: Recreate}}}"), live, "mistctl");
  const auto emptied = emptied_among(found);
  const auto member = std::ranges::find(emptied, ".spec.strategy.rollingUpdate", &FieldDifference::path);
  ASSERT_NE(member, emptied.end());
  EXPECT_THAT(member->managers, ElementsAre("edit"));
  EXPECT_FALSE(member->stays_with_others());
}

// An apply takes away what it applied once.
TEST(Differences, ARollingUpdateOfOursGoesWithoutAPatch) {
  const Value live = with_default_strategy("Deployment", "strategy",
                                           "{manager: mistctl, operation: Apply, fieldsV1: {f:spec: "
                                           "{f:strategy: {f:type: {}, f:rollingUpdate: {f:maxSurge: {}}}}}}");
  const auto found = differences(
      yaml("{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: Recreate}}}"), live, "mistctl");
  EXPECT_THAT(emptied_among(found), IsEmpty());
  EXPECT_THAT(found, ::testing::SizeIs(2));
}

}  // namespace
}  // namespace mist::apply
