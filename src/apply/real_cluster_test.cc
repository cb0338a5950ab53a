// differences() against a real API server: set MIST_TEST_KUBECONFIG to the kubeconfig of a cluster that may
// be written to (devcluster up prints one). Objects are applied, then others under the same name are compared
// with them by differences() and by the server's dry run, and the two must agree.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "apply/fields/difference.h"
#include "apply/fields/server_made.h"
#include "base/random.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "kube/connect.h"
#include "testing/random_objects.h"
#include "testing/temp_dir.h"

namespace mist::apply {
namespace {

using namespace std::chrono_literals;

Value parsed(std::string_view text) {
  auto value = encoding::parse_yaml(text);
  EXPECT_TRUE(value.ok()) << text << value.error().to_line();
  return value.ok() ? *std::move(value) : Value::object();
}

// Without who owns what.
Value values_only(Value object) {
  if (Value* metadata = object.find("metadata")) metadata->erase("managedFields");
  return object;
}

class RealClusterDifferences : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("MIST_TEST_KUBECONFIG");
    if (path == nullptr) GTEST_SKIP() << "MIST_TEST_KUBECONFIG is not set";
    kube::ConnectOptions options;
    options.kubeconfig = path;
    options.user_agent = kube::user_agent("apply_test", "0");
    options.cache_directory = directory.path() / "cache";
    auto connected = kube::connect(options, {fs, processes, clock, random, events,
                                             [](std::string_view) { return std::nullopt; }, false});
    ASSERT_TRUE(connected.ok()) << connected.error().to_line();
    client = *std::move(connected);
    ns = "apply-test-" + random.token(4);
    const Value object = Value::object(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", ns}})}});
    ASSERT_TRUE(client->create(resource("Namespace"), "", object, context).ok());
  }
  void TearDown() override {
    if (client) (void)client->remove({resource("Namespace"), "", ns}, {}, context);
  }

  kube::ResourceInfo resource(std::string_view kind) {
    auto found = client->resource_for(apimachinery::parse_group_kind(kind), "", context);
    EXPECT_TRUE(found.ok()) << found.error().to_line();
    return found.ok() ? *found : kube::ResourceInfo{};
  }

  Result<kube::ObjectRef> reference(const Value& object) {
    const std::string_view version = object.string_at("apiVersion");
    const auto slash = version.find('/');
    MIST_TRY(
        kube::ResourceInfo found,
        client->resource_for({slash == std::string_view::npos ? "" : std::string(version.substr(0, slash)),
                              std::string(object.string_at("kind"))},
                             "", context));
    return kube::ObjectRef{std::move(found), ns, std::string(object.string_at({"metadata", "name"}))};
  }
  Result<Value> get(const Value& object) {
    MIST_TRY(const kube::ObjectRef ref, reference(object));
    return client->get(ref, context);
  }
  Result<Value> apply(const Value& object, bool dry) {
    MIST_TRY(const kube::ObjectRef ref, reference(object));
    kube::ApplyOptions options;
    options.force = true;
    options.dry_run = dry ? kube::DryRun::Server : kube::DryRun::No;
    return client->apply(ref, object, options, context);
  }

  // What is wanted now: do we and the server agree on whether something changes? False: the server finds it
  // invalid.
  bool agree(const Value& wanted) {
    // Controllers write too: what is live must be the same before and after the question.
    for (int tries = 0; tries < 100; ++tries) {
      const auto before = get(wanted);
      const auto after = apply(wanted, true);
      const auto now = get(wanted);
      if (!before.ok() || !now.ok()) break;
      if (!same_object(values_only(*before), values_only(*now), "")) continue;
      if (!after.ok()) {
        EXPECT_EQ(after.error().kind, ErrorKind::Invalid) << after.error().to_line();
        refusal = after.error().to_line();
        return false;
      }
      compare(*before, wanted, *after);
      return true;
    }
    ADD_FAILURE() << "the object never stood still";
    return false;
  }

  void compare(const Value& live, const Value& wanted, const Value& after) {
    const std::vector<FieldDifference> found = differences(wanted, live, "mistctl");
    const bool values_change = !same_object(values_only(live), values_only(after), "");
    const bool anything_changes = !same_object(live, after, "");
    const std::string words =
        fmt::format("wanted {}\nlive {}\nafter {}", encoding::to_json(wanted),
                    encoding::to_json(values_only(live)), encoding::to_json(values_only(after)));
    EXPECT_FALSE(found.empty() && values_change) << "a false \"unchanged\"\n" << words;
    if (!anything_changes) {
      for (const FieldDifference& difference : found)
        EXPECT_TRUE(difference.uncertain) << difference.path << " is none\n" << words;
      uncertain += !found.empty();
    }
    ++(anything_changes ? changing : unchanging);
    // The prediction comes true, but for fields that the server fills in.
    if (anything_changes && !found.empty()) {
      const std::vector<FieldDifference> left =
          differences(wanted, with_predicted(live, found, after), "mistctl");
      for (const FieldDifference& difference : left)
        EXPECT_TRUE(difference.uncertain) << difference.path << " is still there afterwards\n" << words;
    }
  }
  // Our prediction with the ownership that the server recorded.
  static Value with_predicted(const Value& live, const std::vector<FieldDifference>& found,
                              const Value& after) {
    Value predicted = with_differences(live, found);
    const Value* fields = after.at_path({"metadata", "managedFields"});
    if (fields != nullptr) predicted["metadata"].set("managedFields", *fields);
    return predicted;
  }

  HostFileSystem fs;
  HostProcessRunner processes;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  testing::TempDir directory;
  Context context = Context().with_timeout(300s);
  std::string ns;
  std::unique_ptr<kube::Client> client;
  std::string refusal;
  int changing = 0, unchanging = 0, uncertain = 0;
};

struct Case {
  std::string_view applied;  // first
  std::string_view wanted;   // then
  bool equal;                // nothing changes, and we know it without asking
};

constexpr Case kCases[] = {
    {"data: {a: '1'}", "data: {a: '1'}", true},
    {"data: {a: '1'}", "data: {a: '2'}", false},
    {"data: {a: '1', b: '2'}", "data: {a: '1'}", false},
    {"data: {a: ''}", "data: {a: ''}", true},
    {"data: {}", "data: {}", true},
    {"data: {a: '1'}", "data: {}", false},
    {"binaryData: {a: aGk=}", "binaryData: {a: aGk=}", true},
    {"metadata: {labels: {a: b}, annotations: {}}", "metadata: {labels: {a: b}, annotations: {}}", true},
    {"metadata: {finalizers: [x.dev/a, x.dev/b]}", "metadata: {finalizers: [x.dev/a, x.dev/b]}", true},
    {"metadata: {finalizers: [x.dev/a, x.dev/b]}", "metadata: {finalizers: [x.dev/b, x.dev/a]}", false},
    {"metadata: {finalizers: [x.dev/a, x.dev/b]}", "metadata: {finalizers: [x.dev/a]}", false},
    {"data: {max: '1.1', value: '007'}", "data: {max: '1.10', value: '7'}", false},
    {"data: {default: 1Gi}", "data: {default: 1024Mi}", false},
};

TEST_F(RealClusterDifferences, OfConfigMapsAreWhatTheServerSees) {
  int number = 0;
  for (const Case& each : kCases) {
    const auto object = [&](std::string_view text) {
      Value value = parsed(text);
      value.set("apiVersion", "v1");
      value.set("kind", "ConfigMap");
      value["metadata"].set("name", fmt::format("c{}", number));
      return value;
    };
    const Value wanted = object(each.wanted);
    const auto live = apply(object(each.applied), false);
    ASSERT_TRUE(live.ok()) << live.error().to_line();
    agree(wanted);
    EXPECT_EQ(each.equal, differences(wanted, *live, "mistctl").empty()) << each.wanted;
    ++number;
  }
}

// Objects that are applied as they are must compare equal to themselves, but for what the server made of them
// then, and without a question to it.
constexpr std::string_view kTypical[] = {
    R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: typical, creationTimestamp: null, annotations: {}}
spec:
  replicas: 2
  strategy: {}
  revisionHistoryLimit: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {creationTimestamp: null, labels: {app: a}}
    spec:
      hostNetwork: false
      hostPID: false
      automountServiceAccountToken: false
      nodeSelector: {}
      imagePullSecrets: []
      tolerations: []
      affinity: {}
      securityContext: {}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: a}}}
      volumes:
      - name: config
        configMap: {name: x, items: [{key: a, path: b}]}
      - name: empty
        emptyDir: {}
      - name: tmp
        emptyDir: {sizeLimit: 1024Mi}
      - name: all
        projected:
          sources:
          - serviceAccountToken: {path: token}
          - downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}
      initContainers:
      - {name: init, image: busybox, command: [sh, -c, "true"], resources: {}}
      containers:
      - name: web
        image: nginx:1
        stdin: false
        args: []
        env:
        - {name: EMPTY, value: ""}
        - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        - {name: S, valueFrom: {secretKeyRef: {name: s, key: k, optional: false}}}
        ports: [{containerPort: 80}, {name: m, containerPort: 9090, protocol: TCP}, {name: u, containerPort: 80, protocol: UDP}]
        resources: {limits: {cpu: "0.5", memory: 1024Mi}, requests: {cpu: 0.1, memory: 1e6}}
        livenessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 0}
        readinessProbe: {tcpSocket: {port: m}}
        securityContext: {privileged: false, runAsUser: 0, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: config, mountPath: /config, readOnly: false}, {name: tmp, mountPath: /tmp, subPath: ""}]
)",
    R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: typical}
spec:
  serviceName: s
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s}}, spec: {containers: [{name: a, image: b}]}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
)",
    R"(
apiVersion: v1
kind: Service
metadata: {name: typical}
spec:
  type: ClusterIP
  selector: {app: a}
  publishNotReadyAddresses: false
  ports: [{port: 80, targetPort: http, name: a}, {port: 81, targetPort: 8081, name: b}]
)",
    R"(
apiVersion: v1
kind: Secret
metadata: {name: typical}
type: Opaque
data: {a: "aGVsbG8=", empty: ""}
)",
    R"(
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: typical}
spec:
  podSelector: {}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {matchLabels: {a: b}}}], ports: [{port: 80}]}, {}]
)",
    R"(
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: typical}
spec:
  rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]
)",
    R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: typical}
rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: []}]
)",
    R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: typical}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: typical}
subjects: [{kind: ServiceAccount, name: a, namespace: b}, {kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]
)",
    R"(
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: typical}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: typical}
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1000m}}}]
)",
    R"(
apiVersion: batch/v1
kind: CronJob
metadata: {name: typical}
spec:
  schedule: "* * * * *"
  suspend: false
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}
)",
    R"(
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: typical}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
)",
    R"(
apiVersion: v1
kind: ResourceQuota
metadata: {name: typical}
spec: {hard: {cpu: 1000m, requests.memory: 1024Mi, pods: 10}}
)",
    R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: typical}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}, storageClassName: ""}
)",
    R"(
apiVersion: v1
kind: ServiceAccount
metadata: {name: typical}
automountServiceAccountToken: false
imagePullSecrets: []
)",
    R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: typical, annotations: {}}
spec:
  metadata: {labels: {a: b}, annotations: {}}
  spec:
    devices:
      requests:
      - {name: a, exactly: {deviceClassName: a.example.com, count: 2, selectors: [], tolerations: []}}
      - name: b
        firstAvailable:
        - {name: c, deviceClassName: c.example.com, allocationMode: All}
        - {name: d, deviceClassName: d.example.com}
      constraints: []
      config: []
)",
    R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: typical, creationTimestamp: null}
spec:
  devices:
    requests: [{name: a, exactly: {deviceClassName: a.example.com, adminAccess: null, allocationMode: ExactCount}}]
)",
};

TEST_F(RealClusterDifferences, OfWhatIsAppliedAgainAreNone) {
  for (const std::string_view text : kTypical) {
    const Value object = parsed(text);
    const auto live = apply(object, false);
    ASSERT_TRUE(live.ok()) << live.error().to_line();
    const auto there = get(object);
    ASSERT_TRUE(there.ok()) << there.error().to_line();
    std::vector<FieldDifference> found = differences(object, *there, "mistctl");
    leave_out(found, server_made(differences(object, *live, "mistctl")));
    for (const FieldDifference& difference : found)
      if (!difference.made)
        ADD_FAILURE() << object.string_at("kind") << " " << difference.path << ": "
                      << encoding::to_json(difference.before) << " → " << encoding::to_json(difference.after);
    agree(object);
  }
}

TEST_F(RealClusterDifferences, OfRandomObjectsAreWhatTheServerSees) {
  int invalid = 0;
  for (unsigned seed = 1; seed <= 80; ++seed) {
    testing::RandomObjects generator(seed);
    const Value first = generator.object();
    const auto live = apply(first, false);
    if (!live.ok()) {
      ASSERT_EQ(live.error().kind, ErrorKind::Invalid) << live.error().to_line();
      ++invalid;
      continue;
    }
    agree(first);
    // Another object of the same kind and name.
    for (int tries = 0, found = 0; tries < 40 && found < 3; ++tries) {
      const Value other = generator.object();
      if (other.string_at("kind") != first.string_at("kind")) continue;
      invalid += agree(other) ? 0 : 1;
      ++found;
    }
    if (HasFailure()) {
      FAIL() << "with seed " << seed;
    }
  }
  std::cout << changing << " pairs differ, " << unchanging << " are equal (" << uncertain
            << " of them by the server's word), " << invalid << " are invalid\n";
  EXPECT_GT(changing, 100);
  EXPECT_GT(unchanging, 50);
}

// A custom resource is stored as it is written: nothing is normalised, absent and empty are two things.
TEST_F(RealClusterDifferences, OfCustomResourcesAreWhatTheServerSees) {
  const std::string group = "x" + random.token(4) + ".example.com";
  const Value crd = parsed(fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.{0}}}
spec:
  group: {0}
  scope: Namespaced
  names: {{kind: Widget, plural: widgets}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {{type: integer, default: 3}}
              cpu: {{x-kubernetes-int-or-string: true}}
              on: {{type: boolean}}
              text: {{type: string}}
              items: {{type: array, items: {{type: object, properties: {{a: {{type: string}}, protocol: {{type: string}}}}}}}}
              free: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
)",
                                       group));
  ASSERT_TRUE(
      client->create(resource("CustomResourceDefinition.apiextensions.k8s.io"), "", crd, context).ok());
  const auto widget = [&](std::string_view spec) {
    return parsed(
        fmt::format("{{apiVersion: {}/v1, kind: Widget, metadata: {{name: w}}, spec: {}}}", group, spec));
  };
  Result<Value> live = error(ErrorKind::NotFound, "not yet");
  for (int tries = 0; tries < 600 && !live.ok(); ++tries) {
    clock.sleep(100ms, {});
    client->invalidate_discovery();
    live = apply(widget("{cpu: 1000m, on: false, text: '', items: [{a: '1', protocol: TCP}], free: {x: 1}}"),
                 false);
  }
  ASSERT_TRUE(live.ok()) << live.error().to_line();
  for (const std::string_view spec :
       {"{cpu: 1000m, on: false, text: '', items: [{a: '1', protocol: TCP}], free: {x: 1}}",
        "{cpu: '1', on: false, text: '', items: [{a: '1', protocol: TCP}], free: {x: 1}}",
        "{cpu: 1000m, text: '', items: [{a: '1', protocol: TCP}], free: {x: 1}}",
        "{cpu: 1000m, on: false, text: '', items: [{a: '1'}], free: {x: 1}}",
        "{cpu: 1000m, on: false, text: '', items: [{a: '1', protocol: TCP}], free: {z: 1}}",
        "{size: 3, cpu: 1000m, on: false, text: '', items: [{a: '1', protocol: TCP}], free: {x: 1}}",
        "{size: 4, cpu: 1000m, on: false, text: '', items: [], free: {x: {y: []}}}"})
    EXPECT_TRUE(agree(widget(spec))) << spec << refusal;
  EXPECT_TRUE(
      client
          ->remove({resource("CustomResourceDefinition.apiextensions.k8s.io"), "", "widgets." + group}, {},
                   context)
          .ok());
}

}  // namespace
}  // namespace mist::apply
