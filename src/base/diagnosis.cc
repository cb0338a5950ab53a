#include "base/diagnosis.h"

#include <utility>

namespace mist {
namespace {

// The deleter of the cause holds the tree: std::get_deleter finds it again by its type, and every copy of the
// error shares it.
struct HoldsDiagnosis {
  Diagnosis diagnosis;
  void operator()(const Error* error) const { delete error; }
};

}  // namespace

Error diagnosed(Error error, Diagnosis diagnosis) {
  Error cause;
  cause.kind = error.kind;
  cause.message = diagnosis.kind + " " + diagnosis.name;
  if (!diagnosis.state.empty()) cause.message += ": " + diagnosis.state;
  error.cause =
      std::shared_ptr<const Error>(new Error(std::move(cause)), HoldsDiagnosis{std::move(diagnosis)});
  return error;
}

const Diagnosis* diagnosis_of(const Error& error) {
  const auto* holder = std::get_deleter<HoldsDiagnosis>(error.cause);
  return holder == nullptr ? nullptr : &holder->diagnosis;
}

}  // namespace mist
