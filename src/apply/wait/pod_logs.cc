#include "apply/wait/pod_logs.h"

#include <algorithm>

#include "kube/pod_log.h"

namespace mist::apply {

using encoding::Value;

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;  // of one container

}  // namespace

std::vector<ContainerLog> pod_logs(kube::Client& client, const Value& pod, EventSink& events,
                                   const Context& context) {
  std::vector<ContainerLog> logs;
  const std::string ns(pod.string_at({"metadata", "namespace"})), name(pod.string_at({"metadata", "name"}));
  for (const std::string_view list : {"initContainers", "containers"}) {
    const Value* containers = pod.at_path({"spec", list});
    if (containers == nullptr || !containers->is_array()) continue;
    for (const Value& container : containers->as_array()) {
      ContainerLog log{.pod = name, .container = std::string(container.string_at("name")), .text = {}};
      const auto piece = [&](std::string_view part) {
        log.text += part;
        log.cut = static_cast<std::int64_t>(log.text.size()) > kMostBytes;
        if (log.cut) log.text.resize(static_cast<std::size_t>(kMostBytes));
        return !log.cut;
      };
      const Status read = kube::pod_log(
          client, ns, name, {.container = log.container, .limit_bytes = kMostBytes + 1}, piece, context);
      // A container that never began has no log: its state says why.
      if (!read.ok() && read.error().kind != ErrorKind::Invalid)
        events.warn(fmt::format("the log of {} in Pod {}/{} can't be read: {}", log.container, ns, name,
                                read.error().to_line()));
      if (!log.text.empty()) logs.push_back(std::move(log));
    }
  }
  return logs;
}

Result<std::vector<Value>> pods_of_job(kube::Client& client, const apimachinery::ObjectKey& job,
                                       const std::string& uid, const Context& context) {
  kube::ListOptions options;
  options.ns = job.ns;
  options.label_selector = "batch.kubernetes.io/job-name=" + job.name;
  MIST_TRY(kube::ObjectList pods, client.list({{"", "v1", "Pod"}, "pods", true, {}}, options, context));
  std::erase_if(pods.items, [&](const Value& pod) {
    const Value* owners = pod.at_path({"metadata", "ownerReferences"});
    return owners == nullptr || !owners->is_array() ||
           std::ranges::none_of(owners->as_array(),
                                [&](const Value& owner) { return owner.string_at("uid") == uid; });
  });
  std::ranges::stable_sort(pods.items, {}, [](const Value& pod) {
    return std::string(pod.string_at({"metadata", "creationTimestamp"}));
  });
  return std::move(pods.items);
}

}  // namespace mist::apply
