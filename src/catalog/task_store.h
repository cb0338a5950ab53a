#pragma once
// The memory of tests that run in Pods: what each Pod has to do, which token it shows, and what it said so
// far. The token is kept as its digest; it is worth something as long as its task is there and the job in the
// queue is open. sql_task_store.h is the one implementation, in the database of store.h. Blocking; any
// thread. Calls and errors are as those of store.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/model.h"

namespace mist::catalog {

struct Task {
  std::int64_t job = 0;      ///< of the queue
  std::string token = {};    ///< its digest, token_digest()
  std::string request = {};  ///< TrialRequest::to_line()
  std::int64_t pieces = 0;   ///< how many there are
  bool has_ended = false;    ///< the Pod said everything
};

class TaskStore {
 public:
  /// Bytes of a piece, and pieces of a task.
  static constexpr std::size_t kMostPieceBytes = std::size_t{256} << 10;
  static constexpr std::int64_t kMostPieces = 512;

  virtual ~TaskStore() = default;

  /// A new task of a job, in place of its earlier one. Conflict: the job is somebody else's by now.
  virtual Status put(const Job& job, const std::string& token_digest, const std::string& request) = 0;
  virtual Result<std::optional<Task>> of_job(std::int64_t job) = 0;
  /// nullopt: there is none, or its job is over.
  virtual Result<std::optional<Task>> of_token(const std::string& token_digest) = 0;
  /// The Pod's next words. A number that is there already changes nothing: the answer was lost. NotFound:
  /// as of_token(). Conflict: a piece before it is missing, or it comes after the last. Invalid: it is too
  /// large, or one too many.
  virtual Status add_piece(const std::string& token_digest, std::int64_t number, const std::string& text,
                           bool is_last) = 0;
  /// Those from that number on. Empty, too, if there is no such task any more.
  virtual Result<std::vector<std::string>> pieces(const std::string& token_digest, std::int64_t from) = 0;
  /// Of this job, if that is its task's token.
  virtual Status remove(std::int64_t job, const std::string& token_digest) = 0;
  /// All tasks whose job is over.
  virtual Status remove_over() = 0;
};

}  // namespace mist::catalog
