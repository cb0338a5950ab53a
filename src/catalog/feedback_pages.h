#pragma once
// The pages on which packages are rated, commented on and reported, and the one on which moderators see the
// reports. Pure: data in, HTML out. Any thread.

#include <string>

#include "catalog/feedback_store.h"
#include "catalog/page_frame.h"

namespace mist::catalog {

/// The reader of the comments; nobody is signed in: `account` is empty.
struct FeedbackReader {
  std::string account = {};
  Role role = Role::Author;
  std::string form_token = {};
};

struct FeedbackView {
  std::string package = {};
  std::string owner = {};  ///< of the package; empty: it isn't linked any more
  Ratings ratings = {};
  int own_rating = 0;  ///< of the reader; 0: none
  Slice<Comment> comments = {};
  FeedbackReader reader = {};
};
std::string feedback_page(const PageFrame& frame, const FeedbackView& view);
std::string feedback_path(std::string_view package);
/// "4.3 of 5, by 12 people".
std::string rating_words(const Ratings& ratings);

/// Open reports, for moderators.
std::string reports_page(const PageFrame& frame, const std::string& form_token,
                         const Slice<AbuseReport>& reports);

}  // namespace mist::catalog
