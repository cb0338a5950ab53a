// The answers of site.h about ratings, comments and reports, and about what moderators hide and review.

#include "base/text.h"
#include "catalog/json_views.h"
#include "catalog/site.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr int kCommentsOfPage = 20;

// The only member of a body.
Result<std::string> text_in(const http::WebRequest& request, std::string_view name) {
  MIST_TRY(const Value body, body_of(request));
  MIST_TRY_VOID(only_members(body, {name}));
  return std::string(body.string_at(name));
}

}  // namespace

Status Site::is_package(const std::string& name) {
  MIST_TRY(const std::optional<Store::Standing> found, dependencies_.store.standing(name));
  if (!found || !found->has_published) return no_such("package", name);
  if (found->hidden) return hidden_by_moderators(name, *found->hidden);
  return {};
}

Site::Reply Site::ratings(const Call& call) {
  MIST_TRY_VOID(is_package(call.name("name")));
  MIST_TRY(const Ratings found, dependencies_.feedback.ratings(call.name("name")));
  return json(to_value(found));
}

Site::Reply Site::rate(const Call& call) {
  MIST_TRY(const Value body, body_of(call.request));
  const Value* const stars = body.find("stars");
  if (body.as_object().size() != 1 || stars == nullptr || !stars->is_int())
    return error(ErrorKind::Invalid, "the body must be like {{\"stars\": 4}}");
  MIST_TRY_VOID(opinions_.rate(call.actor(), call.name("name"), stars->as_int()));
  return nothing(204);
}

Site::Reply Site::take_back_rating(const Call& call) {
  MIST_TRY_VOID(opinions_.take_back_rating(call.actor(), call.name("name")));
  return nothing(204);
}

Site::Reply Site::comments(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  MIST_TRY_VOID(is_package(call.name("name")));
  MIST_TRY(const Slice<Comment> found, dependencies_.feedback.comments(call.name("name"), page));
  return json(to_value(found, fmt::format("/api/v1/packages/{}/comments?limit={}&after={}",
                                          http::escape_segment(call.name("name")), page.limit,
                                          http::escape_query(found.next))));
}

Site::Reply Site::add_comment(const Call& call) {
  if (const int seconds = opinions_.wait_for(call.actor()); seconds > 0) return too_often(seconds);
  MIST_TRY(const std::string text, text_in(call.request, "text"));
  MIST_TRY(const std::int64_t id, opinions_.comment(call.actor(), call.name("name"), text));
  return json(Value::object({{"id", Value(id)}}), 201);
}

Site::Reply Site::change_comment(const Call& call) {
  MIST_TRY(const std::string text, text_in(call.request, "text"));
  MIST_TRY_VOID(opinions_.change_comment(call.actor(), id_of(call.name("id")), text));
  return nothing(204);
}

Site::Reply Site::remove_comment(const Call& call) {
  MIST_TRY_VOID(opinions_.remove_comment(call.actor(), id_of(call.name("id"))));
  return nothing(204);
}

Site::Reply Site::report(const Call& call, bool is_comment) {
  if (const int seconds = opinions_.wait_for(call.actor()); seconds > 0) return too_often(seconds);
  MIST_TRY(const std::string reason, text_in(call.request, "reason"));
  if (is_comment)
    MIST_TRY_VOID(opinions_.report_comment(call.actor(), id_of(call.name("id")), reason));
  else
    MIST_TRY_VOID(opinions_.report_package(call.actor(), call.name("name"), reason));
  return nothing(202);
}

Site::Reply Site::reports(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  MIST_TRY(const Slice<AbuseReport> found, dependencies_.feedback.reports(page));
  return json(to_value(
      found, fmt::format("/api/v1/reports?limit={}&after={}", page.limit, http::escape_query(found.next))));
}

Site::Reply Site::close_report(const Call& call) {
  MIST_TRY(const std::string decision, text_in(call.request, "decision"));
  MIST_TRY_VOID(opinions_.close_report(call.actor(), id_of(call.name("id")), decision));
  return nothing(204);
}

Site::Reply Site::hide_comment(const Call& call) {
  MIST_TRY(const std::string reason, text_in(call.request, "reason"));
  MIST_TRY_VOID(opinions_.hide_comment(call.actor(), id_of(call.name("id")), reason));
  return nothing(204);
}

Site::Reply Site::show_comment(const Call& call) {
  MIST_TRY_VOID(opinions_.show_comment(call.actor(), id_of(call.name("id"))));
  return nothing(204);
}

// Of a package, or of a version where the path names one.
Site::Reply Site::hide(const Call& call, bool on) {
  const std::string version = call.names.contains("version") ? call.name("version") : std::string();
  if (on) {
    MIST_TRY(const std::string reason, text_in(call.request, "reason"));
    MIST_TRY_VOID(actions_.hide(call.actor(), call.name("name"), version, reason));
  } else {
    MIST_TRY_VOID(actions_.show(call.actor(), call.name("name"), version));
  }
  return nothing(204);
}

Site::Reply Site::reviews(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  const std::string all = call.asked("all");
  if (!all.empty() && all != "true" && all != "false")
    return error(ErrorKind::Invalid, "all must be true or false");
  const bool of_everybody = all == "true";
  if (of_everybody && call.account->role < Role::Moderator)
    return error(ErrorKind::Forbidden, "{} may see only its own versions with this token", call.account->name)
        .with_because("those of everybody are for moderators, with the scope moderate");
  MIST_TRY(const Slice<ReviewedVersion> found,
           dependencies_.store.reviews(of_everybody ? std::string() : call.account->name, page));
  return json(
      to_value(found, fmt::format("/api/v1/reviews?{}limit={}&after={}", of_everybody ? "all=true&" : "",
                                  page.limit, http::escape_query(found.next))));
}

Site::Reply Site::review(const Call& call) {
  MIST_TRY(const Value body, body_of(call.request));
  MIST_TRY_VOID(only_members(body, {"decision", "reason"}));
  const std::string_view decision = body.string_at("decision");
  if (decision != "publish" && decision != "reject")
    return error(ErrorKind::Invalid, "decision must be publish or reject");
  std::optional<std::string> why_not;
  if (decision == "reject") why_not = std::string(body.string_at("reason"));
  MIST_TRY_VOID(actions_.review(call.actor(), call.name("name"), call.name("version"), why_not));
  return nothing(204);
}

// /packages/NAME/comments
Site::Reply Site::feedback_page_of(const std::string& package, const Call& call) {
  MIST_TRY_VOID(is_package(package));
  MIST_TRY(Page page, page_asked(call));
  page.limit = kCommentsOfPage;
  FeedbackView view{.package = package};
  if (call.visitor) {
    const Account& account = call.visitor->session.account;
    view.reader = {.account = account.name, .role = account.role, .form_token = call.visitor->form_token()};
    MIST_TRY(view.own_rating, dependencies_.feedback.rating_of(package, account.name));
  }
  MIST_TRY(const std::optional<Project> project, dependencies_.store.project(package));
  if (project) view.owner = project->owner;
  MIST_TRY(view.ratings, dependencies_.feedback.ratings(package));
  MIST_TRY(view.comments, dependencies_.feedback.comments(package, page));
  return html(feedback_page(call.frame, view));
}

}  // namespace mist::catalog
