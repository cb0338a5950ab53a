#include "catalog/feedback_actions.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/sign_in.h"

namespace mist::catalog {
namespace {

// Of an account ten at once, then one in a minute; of a client, whose accounts may be several, three times
// that.
constexpr double kAccountsRate = 1.0 / 60;
constexpr double kAccountsBurst = 10;
constexpr double kClientsRate = 3 * kAccountsRate;
constexpr double kClientsBurst = 3 * kAccountsBurst;

// Browsers send CR LF.
Result<std::string> plain_text(std::string_view what, const std::string& text, std::size_t longest) {
  std::string plain(trim(text));
  std::erase(plain, '\r');
  if (plain.empty()) return error(ErrorKind::Invalid, "the {} is empty", what);
  if (plain.size() > longest)
    return error(ErrorKind::Invalid, "the {} has more than {} bytes", what, longest);
  const bool has_controls = std::ranges::any_of(plain, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
  });
  if (has_controls || !is_valid_utf8(plain))
    return error(ErrorKind::Invalid, "the {} is no plain text", what);
  if (static_cast<std::size_t>(std::ranges::count(plain, '\n')) >= FeedbackActions::kMostLines)
    return error(ErrorKind::Invalid, "the {} has more than {} lines", what, FeedbackActions::kMostLines);
  return plain;
}

}  // namespace

FeedbackActions::FeedbackActions(FeedbackStore& store, const Clock& clock)
    : store_(store),
      accounts_(clock, kAccountsRate, kAccountsBurst),
      clients_(clock, kClientsRate, kClientsBurst) {}

int FeedbackActions::wait_for(const Actor& actor) {
  if (const int seconds = accounts_.wait_for(actor.account.name); seconds > 0) return seconds;
  return clients_.wait_for(client_of(actor.peer));
}

Status FeedbackActions::rate(const Actor& actor, const std::string& package, std::int64_t stars) {
  if (stars < 1 || stars > kMostStars)
    return error(ErrorKind::Invalid, "a rating is a number of stars from 1 to {}", kMostStars);
  return store_.rate(package, actor.account.name, static_cast<int>(stars));
}

Status FeedbackActions::take_back_rating(const Actor& actor, const std::string& package) {
  return store_.take_back_rating(package, actor.account.name);
}

Result<std::int64_t> FeedbackActions::comment(const Actor& actor, const std::string& package,
                                              const std::string& text) {
  MIST_TRY(const std::string plain, plain_text("comment", text, kLongestComment));
  return store_.add_comment(package, actor.account.name, plain);
}

Status FeedbackActions::change_comment(const Actor& actor, std::int64_t id, const std::string& text) {
  MIST_TRY(const std::string plain, plain_text("comment", text, kLongestComment));
  return store_.change_comment(id, actor.account.name, plain);
}

Status FeedbackActions::remove_comment(const Actor& actor, std::int64_t id) {
  return store_.remove_comment(id, actor.account.name);
}

Status FeedbackActions::report_package(const Actor& actor, const std::string& package,
                                       const std::string& reason) {
  MIST_TRY(const std::string plain, plain_text("reason", reason, kLongestReason));
  return store_.report_package(package, actor.account.name, plain);
}

Status FeedbackActions::report_comment(const Actor& actor, std::int64_t id, const std::string& reason) {
  MIST_TRY(const std::string plain, plain_text("reason", reason, kLongestReason));
  return store_.report_comment(id, actor.account.name, plain);
}

Status FeedbackActions::hide_comment(const Actor& actor, std::int64_t id, const std::string& reason) {
  MIST_TRY(const std::string plain, plain_text("reason", reason, kLongestReason));
  MIST_TRY(const Comment found, comment_named(id));
  return store_.hide_comment(
      id, actor.account.name, plain,
      entry_of(actor, "hide comment", fmt::format("{} at {}: {}", id, found.package, plain)));
}

Status FeedbackActions::show_comment(const Actor& actor, std::int64_t id) {
  MIST_TRY(const Comment found, comment_named(id));
  if (found.by == actor.account.name)
    return error(ErrorKind::Forbidden, "nobody shows their own comment again")
        .with_hint("ask another moderator");
  return store_.show_comment(id, entry_of(actor, "show comment", fmt::format("{} at {}", id, found.package)));
}

Result<Comment> FeedbackActions::comment_named(std::int64_t id) {
  MIST_TRY(std::optional<Comment> found, store_.comment(id));
  if (!found) return error(ErrorKind::NotFound, "there is no comment {}", id);
  return *std::move(found);
}

Status FeedbackActions::close_report(const Actor& actor, std::int64_t id, const std::string& decision) {
  MIST_TRY(const std::string plain, plain_text("decision", decision, kLongestReason));
  return store_.close_report(id, actor.account.name, plain,
                             entry_of(actor, "close report", fmt::format("{}: {}", id, plain)));
}

}  // namespace mist::catalog
