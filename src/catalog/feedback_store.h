#pragma once
// The memory of what accounts say about packages: ratings, comments, reports. sql_feedback_store.h is the
// one implementation, in the database of store.h. Blocking; any thread.
//
// Every call is whole or not at all, and kept once it returns. Errors: those of the database (Retryable where
// trying again may help); others are named. A package is there once it has a version. Gone: moderators hid
// it; nobody says anything about it meanwhile.

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "catalog/store.h"

namespace mist::catalog {

inline constexpr int kMostStars = 5;

/// Of accounts that are not disabled.
struct Ratings {
  std::array<std::int64_t, kMostStars> counts{};  ///< of one star, of two, …
  std::int64_t count() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }
  /// In tenths of a star, rounded; 0 without a rating.
  std::int64_t tenths() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) sum += counts.at(i) * static_cast<std::int64_t>(i + 1);
    return count() == 0 ? 0 : (sum * 10 + count() / 2) / count();
  }
};

struct Comment {
  std::int64_t id = 0;
  std::string package = {};
  std::string by = {};    ///< account
  bool by_owner = false;  ///< of the package
  std::string text = {};
  WallTime created{};
  std::optional<WallTime> changed = {};
  std::optional<std::string> hidden = {};  ///< why a moderator hid it
};

struct AbuseReport {
  std::int64_t id = 0;
  std::string package = {};
  std::int64_t comment = 0;  ///< 0: the package, or a comment that its author removed
  std::string quote = {};    ///< the comment's text when it was reported
  std::string quoted = {};   ///< account that wrote it; empty: it is about the package
  std::string by = {};       ///< account
  std::string reason = {};
  WallTime created{};
};

/// A rating as its author sees it.
struct OwnRating {
  std::string package = {};
  int stars = 0;
  WallTime changed{};
};

class FeedbackStore {
 public:
  static constexpr int kMostComments = 50;  ///< of an account about one package
  virtual ~FeedbackStore() = default;

  // Ratings

  /// The account's only one of that package. NotFound: no such package. Conflict: the package is its own.
  virtual Status rate(const std::string& package, const std::string& account, int stars) = 0;
  /// NotFound: there is none.
  virtual Status take_back_rating(const std::string& package, const std::string& account) = 0;
  virtual Result<Ratings> ratings(const std::string& package) = 0;
  /// 0: it rated nothing.
  virtual Result<int> rating_of(const std::string& package, const std::string& account) = 0;
  virtual Result<std::vector<OwnRating>> ratings_by(const std::string& account) = 0;

  // Comments

  /// Its number. NotFound: no such package. Conflict: the account has kMostComments about it.
  virtual Result<std::int64_t> add_comment(const std::string& package, const std::string& account,
                                           const std::string& text) = 0;
  virtual Result<std::optional<Comment>> comment(std::int64_t id) = 0;
  /// The newest first, hidden ones too.
  virtual Result<Slice<Comment>> comments(const std::string& package, const Page& page) = 0;
  virtual Result<std::int64_t> count_comments(const std::string& package) = 0;
  virtual Result<Slice<Comment>> comments_by(const std::string& account, const Page& page) = 0;
  /// NotFound: the account has no such comment.
  virtual Status change_comment(std::int64_t id, const std::string& account, const std::string& text) = 0;
  /// NotFound as change_comment.
  virtual Status remove_comment(std::int64_t id, const std::string& account) = 0;
  /// Closes the reports of it. NotFound.
  virtual Status hide_comment(std::int64_t id, const std::string& moderator, const std::string& why,
                              const Audit& audit = {}) = 0;
  /// NotFound: there is none, or it isn't hidden.
  virtual Status show_comment(std::int64_t id, const Audit& audit = {}) = 0;

  // Reports

  /// Of a package. NotFound. Conflict: a report of this account about it is open.
  virtual Status report_package(const std::string& package, const std::string& account,
                                const std::string& reason) = 0;
  /// The same of a comment.
  virtual Status report_comment(std::int64_t comment, const std::string& account,
                                const std::string& reason) = 0;
  /// Open ones, the oldest first.
  virtual Result<Slice<AbuseReport>> reports(const Page& page) = 0;
  virtual Result<std::int64_t> count_reports() = 0;
  virtual Result<std::vector<AbuseReport>> reports_by(const std::string& account) = 0;
  /// NotFound: it isn't open. Forbidden: it is about a comment or package of that moderator.
  virtual Status close_report(std::int64_t id, const std::string& moderator, const std::string& decision,
                              const Audit& audit = {}) = 0;
};

}  // namespace mist::catalog
