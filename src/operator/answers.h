#pragma once
// What the program of a blueprint says: functions of nodes and contracts, by instance and question. A
// question that has no answer yet is open, and open ones are evaluated together: evaluating many costs little
// more than evaluating one, and they gather while others are evaluated. Those of instances that had answers
// before come first, so that what was begun is finished; a part of each turn is for new ones. Of a question
// that was answered only the digest is kept. One thread at a time.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "crypto/digest.h"
#include "kube/informer.h"
#include "operator/words.h"

namespace mist::operator_ {

class Answers {
 public:
  using Instance = kube::Informer::Key;

  /// `what` is asked, with that input. Nothing: nobody has answered yet; it is open.
  std::optional<Result<Value>> find(const Instance& instance, const std::string& what, const Value& input);
  /// It may be answered otherwise the next time.
  void drop(const Instance& instance, const std::string& what);
  /// Its questions that nobody evaluates yet are asked no more.
  void drop_open(const Instance& instance);
  /// What nobody has asked of the instance since the last call isn't kept.
  void finish(const Instance& instance);
  void forget(const Instance& instance);
  void clear();

 private:
  struct Entry {
    Instance instance;
    crypto::Digest question;                         // of the input
    Value input;                                     // until it is answered
    std::optional<Result<std::string>> answer = {};  // as JSON, which takes less memory than a Value
    bool asked = true;                               // since the last finish()
  };

 public:
  /// Open questions, which are open no more.
  using Batch = std::vector<std::shared_ptr<Entry>>;
  Batch take();
  static std::vector<Value> inputs(const Batch& batch);
  /// `answers`: one for each. Gives whose they are.
  static std::vector<Instance> put(const Batch& batch, std::vector<Result<Value>> answers);

 private:
  std::map<std::pair<Instance, std::string>, std::vector<std::shared_ptr<Entry>>> entries_;
  bool is_new(const Instance& instance) const;
  template <typename Which>
  void erase(const Instance& instance, Which which);
  static void move(std::deque<std::shared_ptr<Entry>>& from, std::size_t most, Batch& batch);

  std::deque<std::shared_ptr<Entry>> open_, open_of_new_;
};

}  // namespace mist::operator_
