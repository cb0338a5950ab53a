#pragma once
// A client that answers pod_log() from memory and hands everything else to another one, such as a
// FakeCluster. Any thread once the logs are set.

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kube/pod_log.h"

namespace mist::testing {

class ClientWithLogs : public kube::Client, public kube::PodLogs {
 public:
  explicit ClientWithLogs(kube::Client& inner) : inner_(inner) {}

  void set_log(const std::string& pod, const std::string& container, std::string text,
               bool previous = false) {
    logs_[{pod, container, previous}] = std::move(text);
  }
  /// Every later pod_log() fails with it.
  void refuse(Error failure) { refusal_ = std::move(failure); }
  std::size_t reads() const { return reads_; }

  Status pod_log(const std::string&, const std::string& pod, const kube::PodLogOptions& options,
                 const kube::LogPiece& piece, const Context&) override {
    ++reads_;
    if (refusal_) return *refusal_;
    const auto found = logs_.find({pod, options.container, options.previous});
    if (found == logs_.end())
      return error(ErrorKind::Invalid, "container {} in pod {} is waiting to start", options.container, pod);
    std::string_view text = found->second;
    if (options.tail_lines >= 0) {
      std::size_t begin = text.size();
      if (text.ends_with('\n')) --begin;
      for (int left = options.tail_lines; begin > 0; --begin)
        if (text[begin - 1] == '\n' && --left <= 0) break;
      text.remove_prefix(begin);
    }
    if (!text.empty()) (void)piece(text);
    return {};
  }

  Result<kube::ResourceInfo> resource_for(const kube::GroupKind& kind, const std::string& version,
                                          const Context& context) override {
    return inner_.resource_for(kind, version, context);
  }
  void invalidate_discovery() override { inner_.invalidate_discovery(); }
  Result<std::vector<kube::ResourceInfo>> all_resources(const Context& context) override {
    return inner_.all_resources(context);
  }
  Result<kube::ServedApis> served_apis(const Context& context) override {
    return inner_.served_apis(context);
  }
  Result<std::vector<kube::DownApi>> apis_down(const Context& context) override {
    return inner_.apis_down(context);
  }
  Result<std::shared_ptr<const kube::Value>> schemas_of(const std::string& group, const std::string& version,
                                                        kube::SchemaAge age,
                                                        const Context& context) override {
    return inner_.schemas_of(group, version, age, context);
  }
  Result<kube::Value> server_version(const Context& context) override {
    return inner_.server_version(context);
  }
  Result<kube::Value> get(const kube::ObjectRef& ref, const Context& context) override {
    return inner_.get(ref, context);
  }
  Result<kube::ObjectList> list(const kube::ResourceInfo& resource, const kube::ListOptions& options,
                                const Context& context) override {
    return inner_.list(resource, options, context);
  }
  Result<kube::Value> create(const kube::ResourceInfo& resource, const std::string& ns,
                             const kube::Value& object, const Context& context,
                             kube::DryRun dry_run = kube::DryRun::No) override {
    return inner_.create(resource, ns, object, context, dry_run);
  }
  Result<kube::Value> update(const kube::ObjectRef& ref, const kube::Value& object,
                             const Context& context) override {
    return inner_.update(ref, object, context);
  }
  Result<kube::Value> apply(const kube::ObjectRef& ref, const kube::Value& object,
                            const kube::ApplyOptions& options, const Context& context) override {
    return inner_.apply(ref, object, options, context);
  }
  Result<kube::Value> merge_patch(const kube::ObjectRef& ref, const kube::Value& patch,
                                  const Context& context, kube::DryRun dry_run = kube::DryRun::No,
                                  const std::string& subresource = {}) override {
    return inner_.merge_patch(ref, patch, context, dry_run, subresource);
  }
  Result<kube::Value> remove(const kube::ObjectRef& ref, const kube::DeleteOptions& options,
                             const Context& context) override {
    return inner_.remove(ref, options, context);
  }
  Status watch(const kube::ResourceInfo& resource, const kube::ListOptions& options,
               const kube::WatchHandler& handler, const Context& context) override {
    return inner_.watch(resource, options, handler, context);
  }
  const std::string& default_namespace() const override { return inner_.default_namespace(); }
  std::string describe() const override { return inner_.describe(); }

 private:
  kube::Client& inner_;
  std::map<std::tuple<std::string, std::string, bool>, std::string> logs_;
  std::optional<Error> refusal_;
  std::size_t reads_ = 0;
};

}  // namespace mist::testing
