#include "apply/plan/asking.h"

#include "kube/api_failure.h"

namespace mist::apply {

Status Asking::note(const Error& failure) {
  MIST_TRY_VOID(context_.check());
  if (kube::is_without_answer(failure)) return failure;
  if (!kube::unanswering_webhook(failure).empty()) insists_ = false;
  return {};
}

}  // namespace mist::apply
