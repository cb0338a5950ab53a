// Compares readiness() with kstatus, the library by which Helm 4 and Flux wait, on the corpus that
// tests/conformance/kstatus made. Where we answer otherwise, the reason stands here, and in
// docs/internals/readiness.md for readers of the documentation.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "apply/wait/readiness.h"
#include "encoding/json.h"
#include "testing/source_dir.h"

namespace mist::apply {
namespace {

using encoding::Value;

struct Record {
  Value object;
  std::string status, reason;

  bool is(std::string_view kind) const { return object.string_at("kind") == kind; }
  std::string_view phase() const { return object.string_at({"status", "phase"}); }
  const Value* condition(std::string_view type) const {
    const Value* conditions = object.at_path({"status", "conditions"});
    if (conditions == nullptr) return nullptr;
    for (const Value& entry : conditions->as_array())
      if (entry.string_at("type") == type) return &entry;
    return nullptr;
  }
  bool condition_is(std::string_view type, std::string_view wanted) const {
    const Value* entry = condition(type);
    return entry != nullptr && entry->string_at("status") == wanted;
  }
};

struct Difference {
  std::string_view why;
  bool (*explains)(const Record&, Health ours);
};

constexpr Difference kDifferences[] = {
    {"the controllers of apps/v1 always report observedGeneration: without it they have seen nothing",
     [](const Record& r, Health ours) {
       return r.object.string_at("apiVersion") == "apps/v1" && ours == Health::InProgress &&
              r.object.at_path({"status", "observedGeneration"}) == nullptr;
     }},
    {"full counts under an observed generation are enough, as for kubectl rollout status; the conditions say "
     "the "
     "same a moment later",
     [](const Record& r, Health ours) {
       return r.is("Deployment") && ours == Health::Ready &&
              (r.reason == "ReplicaSetNotAvailable" || r.reason == "DeploymentNotAvailable");
     }},
    {"a rolling update is over when the revisions agree, as for kubectl rollout status; kstatus doesn't "
     "look, since "
     "servers always fill in a partition",
     [](const Record& r, Health ours) {
       return r.is("StatefulSet") && ours == Health::InProgress && r.status == "Current" &&
              r.object.string_at({"status", "currentRevision"}) !=
                  r.object.string_at({"status", "updateRevision"});
     }},
    {"without a partition, which servers always fill in, updatedReplicas count for us and currentReplicas "
     "for kstatus",
     [](const Record& r, Health) {
       return r.is("StatefulSet") &&
              r.object.at_path({"spec", "updateStrategy", "rollingUpdate", "partition"}) == nullptr;
     }},
    {"with OnDelete the pods of a StatefulSet must still exist and be ready; kstatus doesn't look",
     [](const Record& r, Health ours) {
       return r.is("StatefulSet") && ours == Health::InProgress && r.status == "Current" &&
              r.object.string_at({"spec", "updateStrategy", "type"}) == "OnDelete";
     }},
    {"with OnDelete nobody updates the pods of a DaemonSet: such a wait would never end",
     [](const Record& r, Health ours) {
       return r.is("DaemonSet") && ours == Health::Ready && r.reason == "LessUpdated" &&
              r.object.string_at({"spec", "updateStrategy", "type"}) == "OnDelete";
     }},
    {"a pod that failed has not become ready",
     [](const Record& r, Health ours) {
       return r.is("Pod") && r.phase() == "Failed" && r.status == "Current" && ours == Health::Failed;
     }},
    {"a container that crashes may wait for another that comes up later; only the timeout ends that",
     [](const Record& r, Health ours) {
       return r.reason == "ContainerCrashLooping" && ours == Health::InProgress;
     }},
    {"a node may still come, by an autoscaler or by another pod's end",
     [](const Record& r, Health ours) {
       return r.reason == "PodUnschedulable" && ours == Health::InProgress;
     }},
    {"waiting for a Job is waiting for its end",
     [](const Record& r, Health ours) {
       return r.is("Job") && r.status == "Current" && ours == Health::InProgress &&
              !r.condition_is("Complete", "True");
     }},
    {"a suspended Job waits for somebody on purpose",
     [](const Record& r, Health ours) {
       return r.is("Job") && r.condition_is("Suspended", "True") && ours == Health::Ready;
     }},
    {"a lost volume does not come back",
     [](const Record& r, Health ours) {
       return r.is("PersistentVolumeClaim") && r.phase() == "Lost" && ours == Health::Failed;
     }},
    {"a load balancer is there when it has an address",
     [](const Record& r, Health) {
       return r.is("Service") && r.object.string_at({"spec", "type"}) == "LoadBalancer";
     }},
    {"a disruption budget whose controller can't count protects nothing",
     [](const Record& r, Health ours) {
       return r.is("PodDisruptionBudget") && ours == Health::InProgress &&
              r.condition("DisruptionAllowed")->string_at("reason") == "SyncFailed";
     }},
    {"a namespace takes objects when it is Active",
     [](const Record& r, Health ours) {
       return r.is("Namespace") && ours == Health::InProgress && r.phase() != "Active";
     }},
    {"an autoscaler that does not find what it scales does nothing",
     [](const Record& r, Health ours) {
       return r.is("HorizontalPodAutoscaler") && ours == Health::InProgress &&
              r.condition_is("AbleToScale", "False");
     }},
    {"an API that isn't Available answers nothing, and breaks discovery for all",
     [](const Record& r, Health ours) {
       return r.is("APIService") && ours == Health::InProgress && !r.condition_is("Available", "True");
     }},
    {"a volume can be used when it is Available or Bound",
     [](const Record& r, Health ours) {
       return r.is("PersistentVolume") &&
              ours == (r.phase() == "Failed" ? Health::Failed : Health::InProgress);
     }},
    {"a condition about an older generation says nothing about this one",
     [](const Record& r, Health ours) {
       return r.is("Widget") && ours == Health::InProgress && r.condition("Ready") != nullptr &&
              r.condition("Ready")->find("observedGeneration") != nullptr;
     }},
    {"Available or Programmed without Ready means the same as Ready",
     [](const Record& r, Health ours) {
       return r.is("Widget") && ours == Health::InProgress && r.condition("Ready") == nullptr &&
              (r.condition_is("Available", "False") || r.condition_is("Programmed", "False"));
     }},
};

Health expected(std::string_view status) {
  if (status == "Current") return Health::Ready;
  return status == "Failed" ? Health::Failed : Health::InProgress;  // Terminating too
}

TEST(KstatusCorpus, IsAnsweredAlikeOrForAReason) {
  std::ifstream file(testing::source_dir() / "tests/conformance/kstatus/corpus.jsonl");
  std::size_t count = 0, unexplained = 0;
  std::map<std::string_view, std::size_t> explained;
  for (std::string line; std::getline(file, line); ++count) {
    auto value = encoding::parse_json(line);
    ASSERT_TRUE(value.ok()) << line;
    const Record record{*value->find("object"), std::string(value->string_at("status")),
                        std::string(value->string_at("reason"))};
    const Readiness ours = readiness(record.object);
    if (ours.health != Health::Ready) {
      EXPECT_FALSE(ours.detail.empty()) << line;
    }
    if (ours.health == expected(record.status)) continue;
    bool known = false;
    for (const Difference& difference : kDifferences) {
      if (!difference.explains(record, ours.health)) continue;
      ++explained[difference.why];
      known = true;
    }
    if (!known && ++unexplained <= 10)
      ADD_FAILURE() << "ours: " << static_cast<int>(ours.health) << " " << ours.detail << "\n" << line;
  }
  EXPECT_GT(count, 4000U);
  EXPECT_EQ(unexplained, 0U);
  for (const Difference& difference : kDifferences)
    EXPECT_TRUE(explained.contains(difference.why)) << "no longer a difference: " << difference.why;
}

TEST(KstatusCorpus, EveryDifferenceIsDocumented) {
  std::ifstream file(testing::source_dir() / "docs/internals/readiness.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  std::size_t rows = 0;
  for (std::size_t at = page.find("\n| "); at != std::string::npos; at = page.find("\n| ", at + 1)) ++rows;
  EXPECT_EQ(rows, std::size(kDifferences) + 1) << "rows of the table, with its heading";
  for (const Difference& difference : kDifferences)
    EXPECT_TRUE(page.contains("| " + std::string(difference.why) + " |\n")) << difference.why;
}

}  // namespace
}  // namespace mist::apply
