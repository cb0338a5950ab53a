#pragma once
// Ratings, comments and reports of packages: who may make them, how often, and what moderators do about them.
// The REST API and the pages call it with the account that they have authenticated. Actions of moderators are
// written to the audit log. Any thread. Errors: Invalid, and those of the store.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "catalog/author_actions.h"
#include "catalog/feedback_store.h"
#include "catalog/rate_limit.h"

namespace mist::catalog {

class FeedbackActions {
 public:
  static constexpr std::size_t kLongestComment = 4'000;  ///< bytes
  static constexpr std::size_t kMostLines = 100;
  static constexpr std::size_t kLongestReason = 500;

  FeedbackActions(FeedbackStore& store, const Clock& clock);

  /// Before each comment and report. 0: it may be made; else the seconds until then.
  int wait_for(const Actor& actor);

  Status rate(const Actor& actor, const std::string& package, std::int64_t stars);
  Status take_back_rating(const Actor& actor, const std::string& package);
  Result<std::int64_t> comment(const Actor& actor, const std::string& package, const std::string& text);
  Status change_comment(const Actor& actor, std::int64_t id, const std::string& text);
  Status remove_comment(const Actor& actor, std::int64_t id);
  Status report_package(const Actor& actor, const std::string& package, const std::string& reason);
  Status report_comment(const Actor& actor, std::int64_t id, const std::string& reason);

  /// Of moderators. The reason is shown in the comment's place.
  Status hide_comment(const Actor& actor, std::int64_t id, const std::string& reason);
  /// Forbidden: it is the actor's own.
  Status show_comment(const Actor& actor, std::int64_t id);
  /// Forbidden: it is about the actor's package or comment.
  Status close_report(const Actor& actor, std::int64_t id, const std::string& decision);

 private:
  Result<Comment> comment_named(std::int64_t id);

  FeedbackStore& store_;
  RateLimit accounts_, clients_;
};

}  // namespace mist::catalog
