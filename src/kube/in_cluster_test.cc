#include "kube/in_cluster.h"

#include <gtest/gtest.h>

#include <map>

namespace mist::kube {
namespace {

// Only what a Pod mounts.
class PodFiles final : public FileSystem {
 public:
  std::map<std::string, std::string> files;

  Result<std::string> read(const Path& path, std::uint64_t) const override {
    const auto found = files.find(path.string());
    if (found == files.end()) return error(ErrorKind::NotFound, "cannot read {}", path.string());
    return found->second;
  }
  Result<std::uint64_t> size(const Path& path) const override {
    MIST_TRY(const std::string bytes, read(path, 0));
    return bytes.size();
  }
  bool exists(const Path& path) const override { return files.contains(path.string()); }
  Status write(const Path&, std::string_view, const WriteOptions&) override { return refused(); }
  Result<std::vector<DirectoryEntry>> list(const Path&) const override { return refused(); }
  Status make_directories(const Path&, unsigned) override { return refused(); }
  Status remove(const Path&) override { return refused(); }
  Status remove_all(const Path&) override { return refused(); }
  Status rename(const Path&, const Path&) override { return refused(); }
  bool is_directory(const Path&) const override { return false; }

 private:
  static Error refused() { return error(ErrorKind::Forbidden, "read-only"); }
};

constexpr auto kMount = "/var/run/secrets/kubernetes.io/serviceaccount/";

Getenv pod_environment(std::string host) {
  return [host = std::move(host)](std::string_view name) -> std::optional<std::string> {
    if (name == "KUBERNETES_SERVICE_HOST") return host;
    if (name == "KUBERNETES_SERVICE_PORT") return "443";
    return std::nullopt;
  };
}

TEST(InCluster, UsesTheMountedServiceAccount) {
  PodFiles fs;
  fs.files = {{std::string(kMount) + "token", "t"}, {std::string(kMount) + "namespace", "shop\n"}};
  const auto found = in_cluster_context(fs, pod_environment("10.0.0.1"));
  ASSERT_TRUE(found.ok() && *found);
  const ResolvedContext& context = **found;
  EXPECT_EQ(context.cluster.server, "https://10.0.0.1:443");
  EXPECT_EQ(context.ns, "shop");
  EXPECT_EQ(context.user.token_file, std::string(kMount) + "token");
  EXPECT_EQ((*in_cluster_context(fs, pod_environment("fd00::1")))->cluster.server, "https://[fd00::1]:443");
}

TEST(InCluster, IsNothingOutsideOfAPod) {
  PodFiles fs;
  EXPECT_FALSE(*in_cluster_context(fs, pod_environment("10.0.0.1"))) << "no token";
  fs.files = {{std::string(kMount) + "token", "t"}};
  EXPECT_FALSE(*in_cluster_context(fs, [](std::string_view) { return std::nullopt; }));
}

}  // namespace
}  // namespace mist::kube
