#pragma once
// A control plane for one test: a command of whoever runs the catalog starts it, and takes it away when its
// standard input ends. That ends also when the worker is killed; a command that doesn't see it is ended by
// the next worker (end_left_clusters). Blocking; one thread.
//
// The command runs by /bin/sh. It prints a line when the cluster is ready: the path of a kubeconfig, or
// anything else if it wrote one to $KUBECONFIG. $MISTLETOE_TEST is the test's name, a DNS label.

#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/context.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"

namespace mist::catalog {

struct TestClusterDependencies {
  FileSystem& files;
  ProcessRunner& programs;  ///< with our environment, whose command it is
  Path directory;           ///< of this catalog's clusters on this machine
  Duration longest_start = std::chrono::minutes(10);
  Duration longest_end = std::chrono::minutes(2);  ///< after that the command is killed
};

class TestCluster {
 public:
  /// Waits until it is ready. Errors, which say nothing of a package: Invalid (the command failed, in its own
  /// words, or named no kubeconfig), Timeout, Cancelled, of the file system.
  static Result<std::unique_ptr<TestCluster>> start(const TestClusterDependencies& dependencies,
                                                    const std::string& command, const std::string& name,
                                                    const Context& context);
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;
  /// Takes it away.
  ~TestCluster();

  const Path& kubeconfig() const { return kubeconfig_; }

 private:
  class Run;
  explicit TestCluster(std::unique_ptr<Run> run);

  std::unique_ptr<Run> run_;
  Path kubeconfig_;
};

/// Ends the commands of workers of this machine that were killed, and removes their files. Any process may
/// have that directory.
void end_left_clusters(FileSystem& files, const Path& directory);

}  // namespace mist::catalog
