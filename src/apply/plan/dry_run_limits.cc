#include "apply/plan/dry_run_limits.h"

#include "kube/api_failure.h"

namespace mist::apply {

Status DryRunLimits::note(const Error& failure) {
  MIST_TRY_VOID(context_.check());
  if (kube::is_without_answer(failure)) return failure;
  if (!kube::unanswering_webhook(failure).empty()) insists_ = false;
  return {};
}

}  // namespace mist::apply
