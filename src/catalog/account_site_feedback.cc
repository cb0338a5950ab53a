// The answers of account_site.h about ratings, comments and reports, and about what moderators hide.

#include "base/text.h"
#include "catalog/account_site.h"
#include "catalog/feedback_pages.h"

namespace mist::catalog {
namespace {

constexpr int kReportsOfPage = 50;

http::WebAnswer to_comments(const std::string& package, std::int64_t id = 0) {
  return see_other(feedback_path(package) + (id == 0 ? std::string() : fmt::format("#comment-{}", id)));
}

http::WebAnswer thanks(const PageFrame& frame) {
  return html(message_page(frame, "Thank you", "The moderators see your report."));
}

}  // namespace

// Where the answer to a form about a comment leads.
Result<std::string> AccountSite::package_of_comment(std::int64_t id) {
  MIST_TRY(const std::optional<Comment> found, dependencies_.feedback.comment(id));
  if (!found) return no_such("comment", std::to_string(id));
  return found->package;
}

AccountSite::Reply AccountSite::rate(const Ask& ask) {
  const std::string stars = field(ask.form, "stars");
  const bool is_digit = stars.size() == 1 && stars[0] >= '0' && stars[0] <= '9';
  MIST_TRY_VOID(
      dependencies_.opinions.rate(ask.actor(), field(ask.form, "package"), is_digit ? stars[0] - '0' : 0));
  return to_comments(field(ask.form, "package"));
}

AccountSite::Reply AccountSite::take_back_rating(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.opinions.take_back_rating(ask.actor(), field(ask.form, "package")));
  return to_comments(field(ask.form, "package"));
}

AccountSite::Reply AccountSite::add_comment(const Ask& ask) {
  if (const int seconds = dependencies_.opinions.wait_for(ask.actor()); seconds > 0)
    return wait_page(ask.frame, seconds);
  const std::string package = field(ask.form, "package");
  MIST_TRY(const std::int64_t id,
           dependencies_.opinions.comment(ask.actor(), package, field(ask.form, "text")));
  return to_comments(package, id);
}

AccountSite::Reply AccountSite::change_comment(const Ask& ask) {
  const std::int64_t id = id_of(field(ask.form, "id"));
  MIST_TRY_VOID(dependencies_.opinions.change_comment(ask.actor(), id, field(ask.form, "text")));
  MIST_TRY(const std::string package, package_of_comment(id));
  return to_comments(package, id);
}

AccountSite::Reply AccountSite::remove_comment(const Ask& ask) {
  const std::int64_t id = id_of(field(ask.form, "id"));
  MIST_TRY(const std::string package, package_of_comment(id));
  MIST_TRY_VOID(dependencies_.opinions.remove_comment(ask.actor(), id));
  return to_comments(package);
}

AccountSite::Reply AccountSite::report_package(const Ask& ask) {
  if (const int seconds = dependencies_.opinions.wait_for(ask.actor()); seconds > 0)
    return wait_page(ask.frame, seconds);
  MIST_TRY_VOID(dependencies_.opinions.report_package(ask.actor(), field(ask.form, "package"),
                                                      field(ask.form, "reason")));
  return thanks(ask.frame);
}

AccountSite::Reply AccountSite::report_comment(const Ask& ask) {
  if (const int seconds = dependencies_.opinions.wait_for(ask.actor()); seconds > 0)
    return wait_page(ask.frame, seconds);
  MIST_TRY_VOID(dependencies_.opinions.report_comment(ask.actor(), id_of(field(ask.form, "id")),
                                                      field(ask.form, "reason")));
  return thanks(ask.frame);
}

// Of moderators

AccountSite::Reply AccountSite::show_reports(const Ask& ask) {
  MIST_TRY(const Slice<AbuseReport> reports,
           dependencies_.feedback.reports({.after = field(ask.query, "after"), .limit = kReportsOfPage}));
  return html(reports_page(ask.frame, ask.visitor->form_token(), reports));
}

AccountSite::Reply AccountSite::close_report(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.opinions.close_report(ask.actor(), id_of(field(ask.form, "id")),
                                                    field(ask.form, "decision")));
  return see_other("/admin/reports");
}

AccountSite::Reply AccountSite::hide_comment(const Ask& ask) {
  const std::int64_t id = id_of(field(ask.form, "id"));
  MIST_TRY_VOID(dependencies_.opinions.hide_comment(ask.actor(), id, field(ask.form, "why")));
  MIST_TRY(const std::string package, package_of_comment(id));
  return to_comments(package, id);
}

AccountSite::Reply AccountSite::show_comment(const Ask& ask) {
  const std::int64_t id = id_of(field(ask.form, "id"));
  MIST_TRY_VOID(dependencies_.opinions.show_comment(ask.actor(), id));
  MIST_TRY(const std::string package, package_of_comment(id));
  return to_comments(package, id);
}

// Of a package, or of a version where the form names one.
AccountSite::Reply AccountSite::hide_package(const Ask& ask) {
  const std::string package = field(ask.form, "package");
  MIST_TRY_VOID(
      dependencies_.actions.hide(ask.actor(), package, field(ask.form, "version"), field(ask.form, "why")));
  return see_other(package_path(package));
}

AccountSite::Reply AccountSite::show_package(const Ask& ask) {
  const std::string package = field(ask.form, "package");
  MIST_TRY_VOID(dependencies_.actions.show(ask.actor(), package, field(ask.form, "version")));
  return see_other(package_path(package));
}

AccountSite::Reply AccountSite::show_reviews(const Ask& ask) {
  MIST_TRY(const Slice<ReviewedVersion> reviews,
           dependencies_.store.reviews({}, {.after = field(ask.query, "after"), .limit = kReportsOfPage}));
  return html(reviews_page(ask.frame, reviews));
}

AccountSite::Reply AccountSite::publish_version(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.actions.review(ask.actor(), field(ask.form, "package"),
                                             field(ask.form, "version"), std::nullopt));
  return see_other("/admin/reviews");
}

AccountSite::Reply AccountSite::reject_version(const Ask& ask) {
  MIST_TRY_VOID(dependencies_.actions.review(ask.actor(), field(ask.form, "package"),
                                             field(ask.form, "version"), field(ask.form, "why")));
  return see_other("/admin/reviews");
}

}  // namespace mist::catalog
