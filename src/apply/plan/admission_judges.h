#pragma once
// The policies and webhooks of a cluster that judge one operation: where there is none, the server only asks
// for rights, and validates. Blocking to read; then pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

class AdmissionJudges {
 public:
  /// `operation` as admission calls it: "CREATE", "DELETE". Three LISTs. One that fails leaves unknown what
  /// is judged (judge()).
  static AdmissionJudges read(kube::Client& client, std::string_view operation, const Context& context);

  /// Whether any may be asked about objects of that kind; true where that is unknown.
  bool judge(const apimachinery::GroupKind& kind) const;

 private:
  std::string operation_;
  std::vector<encoding::Value> configurations_;
  bool unknown_ = false;
};

}  // namespace mist::apply
