#include "catalog/feedback_pages.h"

#include "base/text.h"
#include "catalog/feedback_actions.h"
#include "catalog/form_parts.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

std::string comment_path(std::string_view package, std::int64_t id) {
  return fmt::format("{}#comment-{}", feedback_path(package), id);
}

// Several forms of a page have such a field, so its id has a number.
Markup area(std::string_view name, std::string_view label, std::int64_t number, std::string_view text,
            std::size_t longest) {
  return markup(
      "<div class=\"field\"><label for=\"{0}-{1}\">{2}</label><textarea id=\"{0}-{1}\" name=\"{0}\" "
      "rows=\"4\" "
      "maxlength=\"{3}\" required>\n{4}</textarea></div>\n",
      name, number, label, longest, FormValue{text});
}

Markup reason_form(std::string_view action, const std::string& token, std::string_view what, std::int64_t id,
                   const Markup& fields, std::string_view name, std::string_view label) {
  return markup(
      "<details><summary>{}</summary>\n<form method=\"post\" "
      "action=\"{}\">\n{}{}{}<button>{}</button>\n</form>\n"
      "</details>\n",
      what, action, form_field(token), fields, area(name, label, id, "", FeedbackActions::kLongestReason),
      what);
}

Markup own_controls(const Comment& comment, const FeedbackReader& reader) {
  const Markup id = hidden_field("id", std::to_string(comment.id));
  return markup(
      "<details><summary>Change</summary>\n<form method=\"post\" action=\"/account/comments/change\">\n{}{}{}"
      "<button>Change it</button>\n</form>\n{}</details>\n",
      form_field(reader.form_token), id,
      area("text", "Comment", comment.id, comment.text, FeedbackActions::kLongestComment),
      button_form("/account/comments/remove", reader.form_token, id, "Remove it"));
}

Markup comment_controls(const Comment& comment, const FeedbackReader& reader) {
  if (reader.account.empty()) return {};
  const Markup id = hidden_field("id", std::to_string(comment.id));
  Markup out;
  if (comment.by == reader.account)
    out += own_controls(comment, reader);
  else if (!comment.hidden)
    out += reason_form("/account/comments/report", reader.form_token, "Report", comment.id, id, "reason",
                       "What is wrong with it");
  const bool is_moderator = reader.role >= Role::Moderator;
  if (is_moderator && comment.hidden && comment.by != reader.account)
    out += button_form("/admin/comments/show", reader.form_token, id, "Show it again");
  else if (is_moderator && !comment.hidden)
    out += reason_form("/admin/comments/hide", reader.form_token, "Hide", comment.id, id, "why",
                       "Why it is hidden, for everybody");
  return out;
}

Markup text_block(std::string_view text) { return markup("<p class=\"plain-text\">{}</p>\n", text); }

Markup comment_item(const Comment& comment, const FeedbackReader& reader) {
  Markup body;
  if (!comment.hidden) {
    body = text_block(comment.text);
  } else {
    body = markup("<p class=\"soft\">A moderator hid this comment: {}</p>\n", *comment.hidden);
    if (reader.role >= Role::Moderator || (!reader.account.empty() && reader.account == comment.by))
      body += markup("<details><summary>Its text</summary>\n{}</details>\n", text_block(comment.text));
  }
  return markup(
      "<li id=\"comment-{}\"><p class=\"by\"><b>{}</b>{} <span class=\"soft\">{}{}</span></p>\n{}{}</li>\n",
      comment.id, comment.by,
      comment.by_owner ? markup(" <span class=\"state passed\">owner</span>") : Markup(),
      format_time(comment.created).substr(0, 10),
      comment.changed ? ", changed " + format_time(*comment.changed).substr(0, 10) : std::string(), body,
      comment_controls(comment, reader));
}

Markup ratings_section(const FeedbackView& view) {
  Markup out = markup("<h2 id=\"rating\">Rating</h2>\n<p>{}.</p>\n", rating_words(view.ratings));
  if (view.ratings.count() > 0) {
    Markup rows;
    for (int stars = kMostStars; stars >= 1; --stars)
      rows += markup("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                     plural(static_cast<std::size_t>(stars), "star"),
                     view.ratings.counts.at(static_cast<std::size_t>(stars - 1)));
    out += wide("rating", markup("<table>\n{}</table>", rows));
  }
  const FeedbackReader& reader = view.reader;
  if (reader.account.empty() || reader.account == view.owner) return out;
  Markup choices;
  for (int stars = 1; stars <= kMostStars; ++stars)
    choices += markup(
        "<label class=\"box unbroken\"><input type=\"radio\" name=\"stars\" value=\"{0}\" required{1}> "
        "{2}</label> ",
        stars, stars == view.own_rating ? markup(" checked") : Markup(),
        plural(static_cast<std::size_t>(stars), "star"));
  const Markup package = hidden_field("package", view.package);
  out += markup(
      "<form method=\"post\" action=\"/account/ratings\">\n{}{}<fieldset><legend>Your "
      "rating</legend>\n{}</fieldset>\n"
      "<button>{}</button>\n</form>\n",
      form_field(reader.form_token), package, choices,
      view.own_rating == 0 ? "Rate it" : "Change your rating");
  if (view.own_rating != 0)
    out += button_form("/account/ratings/remove", reader.form_token, package, "Take back your rating");
  return out;
}

Markup comment_form(const FeedbackView& view) {
  const FeedbackReader& reader = view.reader;
  if (reader.account.empty())
    return markup("<p><a href=\"/login?next={}\">Sign in</a> to rate it, comment on it or report it.</p>\n",
                  http::escape_query(feedback_path(view.package)));
  const Markup package = hidden_field("package", view.package);
  Markup out =
      markup("<form method=\"post\" action=\"/account/comments\">\n{}{}{}<button>Comment</button>\n</form>\n",
             form_field(reader.form_token), package,
             area("text", "Your comment, as plain text. Everybody sees it with your name", 0, "",
                  FeedbackActions::kLongestComment));
  out += reason_form("/account/reports", reader.form_token, "Report this package", 0, package, "reason",
                     "What is wrong with the package. Moderators see it with your name");
  return out;
}

Markup report_row(const std::string& token, const AbuseReport& report) {
  const Markup id = hidden_field("id", std::to_string(report.id));
  Markup about = markup("<a href=\"{}\">{}</a>", package_path(report.package), report.package);
  if (!report.quoted.empty()) {
    about += report.comment == 0 ? markup(", a comment of {} that was removed", report.quoted)
                                 : markup(", <a href=\"{}\">a comment of {}</a>",
                                          comment_path(report.package, report.comment), report.quoted);
    about += text_block(report.quote);
  }
  Markup forms;
  if (report.comment != 0)
    forms += reason_form("/admin/comments/hide", token, "Hide the comment", report.id,
                         hidden_field("id", std::to_string(report.comment)), "why",
                         "Why it is hidden, for everybody");
  if (report.quoted.empty())
    forms += reason_form("/admin/packages/hide", token, "Hide the package", report.id,
                         hidden_field("package", report.package), "why", "Why it is hidden, for everybody");
  forms += reason_form("/admin/reports/close", token, "Close the report", report.id, id, "decision",
                       "Your decision, for the audit log");
  return markup(
      "<tr><th scope=\"row\">{}</th><td class=\"unbroken\">{}</td><td "
      "class=\"whole\">{}</td><td>{}{}</td></tr>\n",
      report.by, format_time(report.created).substr(0, 10), about, text_block(report.reason), forms);
}

}  // namespace

std::string feedback_path(std::string_view package) { return package_path(package) + "/comments"; }

std::string rating_words(const Ratings& ratings) {
  if (ratings.count() == 0) return "Nobody rated it yet";
  const std::int64_t tenths = ratings.tenths();
  return fmt::format(
      "{}.{} of {} stars, by {}", tenths / 10, tenths % 10, kMostStars,
      ratings.count() == 1 ? std::string("one person") : fmt::format("{} people", ratings.count()));
}

std::string feedback_page(const PageFrame& frame, const FeedbackView& view) {
  Markup content = markup("<h1>Comments on {0}</h1>\n<p><a href=\"{1}\">Back to {0}</a></p>\n{2}",
                          view.package, package_path(view.package), ratings_section(view));
  content += markup("<h2 id=\"comments\">Comments</h2>\n{}", comment_form(view));
  Markup items;
  for (const Comment& each : view.comments.items) items += comment_item(each, view.reader);
  content += items.empty() ? markup("<p>There are none here.</p>\n")
                           : markup("<ul class=\"plain\">\n{}</ul>\n", items);
  if (!view.comments.next.empty())
    content += markup("<p><a href=\"{}?after={}\" rel=\"next\">Older ones</a></p>\n",
                      feedback_path(view.package), http::escape_query(view.comments.next));
  return frame_of(frame, "Comments on " + view.package, content).text();
}

std::string reports_page(const PageFrame& frame, const std::string& form_token,
                         const Slice<AbuseReport>& reports) {
  Markup rows;
  for (const AbuseReport& each : reports.items) rows += report_row(form_token, each);
  Markup content = markup(
      "<h1 id=\"reports\">Reports</h1>\n<p>Of packages and comments. Hiding one closes its reports; one "
      "version "
      "of a package is hidden or yanked on its own page.</p>\n");
  content += rows.empty()
                 ? markup("<p>None is open.</p>\n")
                 : wide("reports",
                        markup("<table class=\"stacked\"><thead><tr><th scope=\"col\">By</th><th "
                               "scope=\"col\">Time</th><th "
                               "scope=\"col\">About</th><th scope=\"col\">What is wrong</th></tr></thead>\n"
                               "<tbody>{}</tbody></table>",
                               rows));
  if (!reports.next.empty())
    content += markup("<p><a href=\"/admin/reports?after={}\" rel=\"next\">More</a></p>\n",
                      http::escape_query(reports.next));
  return frame_of(frame, "Reports", content).text();
}

}  // namespace mist::catalog
