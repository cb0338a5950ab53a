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

using Change = std::function<std::string(std::string)>;

void change_texts(Diagnosis& diagnosis, const Change& change) {
  for (std::string* text : {&diagnosis.name, &diagnosis.state, &diagnosis.reason, &diagnosis.remedy})
    *text = change(std::move(*text));
  for (Diagnosis::Event& event : diagnosis.events) event.message = change(std::move(event.message));
  for (std::string& line : diagnosis.log) line = change(std::move(line));
  for (std::string& note : diagnosis.notes) note = change(std::move(note));
  for (Diagnosis& child : diagnosis.children) change_texts(child, change);
}

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

Error with_texts(Error error, const Change& change) {
  for (std::string* text : {&error.message, &error.because, &error.hint}) *text = change(std::move(*text));
  for (std::string& frame : error.frames) frame = change(std::move(frame));
  if (error.where) error.where->excerpt = change(std::move(error.where->excerpt));
  if (!error.cause) return error;
  auto cause = with_texts(*error.cause, change);
  const Diagnosis* const told = diagnosis_of(error);
  if (told == nullptr) {
    error.cause = std::make_shared<const Error>(std::move(cause));
    return error;
  }
  Diagnosis diagnosis = *told;
  change_texts(diagnosis, change);
  error.cause =
      std::shared_ptr<const Error>(new Error(std::move(cause)), HoldsDiagnosis{std::move(diagnosis)});
  return error;
}

const Diagnosis* diagnosis_of(const Error& error) {
  const auto* holder = std::get_deleter<HoldsDiagnosis>(error.cause);
  return holder == nullptr ? nullptr : &holder->diagnosis;
}

}  // namespace mist
