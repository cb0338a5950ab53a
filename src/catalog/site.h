#pragma once
// All that the catalog answers over HTTP: the REST API and the web pages. Handlers block and run on any
// number of threads at once.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "catalog/account_site.h"
#include "catalog/author_actions.h"
#include "catalog/blobs.h"
#include "catalog/downloads.h"
#include "catalog/feedback_actions.h"
#include "catalog/feedback_pages.h"
#include "catalog/index_texts.h"
#include "catalog/openapi.h"
#include "catalog/pages.h"
#include "catalog/poller.h"
#include "catalog/previews.h"
#include "catalog/rate_limit.h"
#include "catalog/shared_bytes.h"
#include "catalog/store.h"
#include "catalog/task_store.h"
#include "catalog/token.h"
#include "catalog/version_changes.h"
#include "catalog/web_answers.h"
#include "http/web_server.h"

namespace mist::catalog {

struct SiteOptions {
  std::string url;  ///< of this catalog, as others reach it, without a slash at its end
  Repositories allowed = Repositories::Public;
  bool behind_proxy = false;      ///< the last address of the last X-Forwarded-For is the client's
  double reads_per_second = 200;  ///< of one client on average; 0: no limit
  Registration registration = Registration::Closed;
  /// Of one account, and of one project's webhook; previews and comparisons of one client.
  double writes_per_minute = 60;
};

class Site {
 public:
  struct Dependencies {
    Store& store;
    AccountStore& accounts;
    FeedbackStore& feedback;
    PasswordHasher& passwords;
    Blobs& blobs;
    SharedBytes& shared;  ///< the packages that are sent
    Clock& clock;
    Random& random;
    EventSink& events;
    std::function<void()> wake_poller;
    http::TxtResolver resolve_txt = {};  ///< none: no domain can be proved
    Previews* previews = nullptr;        ///< null: there are none
    OidcClient* oidc = nullptr;          ///< null: no issuer
    PasskeyStore* passkeys = nullptr;    ///< null: accounts have none
    TaskStore* tasks = nullptr;          ///< null: no Pod tests for this catalog
  };
  Site(Dependencies dependencies, SiteOptions options);

  http::WebAnswer answer(const http::WebRequest& request);
  DomainActions& domains() { return domains_; }

 private:
  struct Call {
    const http::WebRequest& request;
    std::map<std::string, std::string, std::less<>> names;  // of the path's parts in braces
    Fields query;
    std::string peer;
    std::optional<Account> account;       // with the rights that the token gives
    TokenActions::Allowed allowed = {};   // that a token made with this one may have
    std::optional<Visitor> visitor = {};  // of pages
    PageFrame frame = {};

    std::string name(std::string_view key) const { return names.find(key)->second; }
    std::string asked(std::string_view key) const { return field(query, key); }
    Actor actor() const { return {*account, peer}; }  // of endpoints with a role
  };
  using Reply = Result<http::WebAnswer>;

  http::WebAnswer route(const http::WebRequest& request);
  http::WebAnswer api(const http::WebRequest& request, const std::string& peer);
  Reply run(const Endpoint& endpoint, Call& call);
  http::WebAnswer too_often_page(int seconds, const PageFrame& frame, std::string_view path) const;
  http::WebAnswer error_page(const http::WebRequest& request, const Error& failure);
  http::WebAnswer page(const http::WebRequest& request, const std::string& peer);
  Result<Call> page_call(const http::WebRequest& request, const std::string& peer);
  Reply page_of(const std::vector<std::string>& parts, Call& call);
  static Markup controls_of(const Call& call, const Version& shown, const std::string& owner);
  // Those that only their author and moderators see are left out for everybody else.
  Status leave_out_unpublished(const Call& call, const std::string& package,
                               std::vector<VersionBrief>& versions);
  Result<bool> may_see_hidden(const Call& call, const std::string& package);
  // Of an operation that needs no token, but shows more to some: the account of the token that came.
  Status note_sender(Call& call);
  // With those that aren't published, for whoever may see them.
  Result<std::vector<VersionBrief>> versions_shown_to(const Call& call);
  Reply package_page_of(const std::vector<std::string>& parts, const Call& call);

  Status authenticate(Call& call, const Endpoint& endpoint);
  Result<Page> page_asked(const Call& call) const;
  static Result<Search> search_asked(const Call& call);
  // In gzip for clients that take it; condense() makes a 304 of it.
  static Reply text_of(IndexTexts& texts, std::string_view type, const Call& call);
  Reply index_shard_list(const Call& call);
  // NotFound: the index has no such shard now.
  Reply index_shard(const std::string& digest, const Call& call);
  Reply search(const Call& call);
  Reply versions(const Call& call);
  Reply version(const Call& call);
  Reply test(const Call& call);
  Reply changes(const Call& call);
  Result<VersionChanges> changes_of(const std::vector<VersionBrief>& versions, const VersionBrief& to,
                                    const std::string& from);
  Result<Version> whole(const VersionBrief& version);
  int seconds_until_it_compares(const Call& call);
  Reply test_again(const Call& call);
  Reply yank(const Call& call, bool on);
  Reply blob(const Call& call);
  Reply downloads(const Call& call);
  Reply note_install(const Call& call);
  Result<Store::Installs> installs(const std::string& package);
  Result<std::vector<DownloadsOfDay>> recent_downloads(const std::string& package);
  Reply preview(const Call& call);
  Result<encoding::Value> preview_plan(const Version& version, const Preview& preview, const Call& call);
  Reply module(const Call& call);
  // Whether the version that the query names is being prepared: another instance told the browser of its
  // modules, and this one doesn't know them yet.
  Result<bool> is_preparing(const Call& call);
  // NotFound: no preview has it. Gone: moderators hid all versions that it is of.
  Status check_module(const std::string& digest);
  Reply add_project(const Call& call);
  Reply projects(const Call& call);
  Reply project(const Call& call);
  Reply remove_project(const Call& call);
  Reply poll_project(const Call& call);
  Reply webhook(const Call& call);
  Reply tokens(const Call& call);
  Reply make_token(const Call& call);
  Reply revoke_token(const Call& call);
  Reply audit_log(const Call& call);
  Status is_package(const std::string& name);
  // NotFound: there is none that is published. Gone: moderators hid it, or its package.
  Result<Version> version_named(const Call& call);
  // All that are published; hidden ones say that they are. NotFound; Gone: moderators hid the package.
  Result<std::vector<VersionBrief>> versions_of(const std::string& package);
  Reply ratings(const Call& call);
  Reply rate(const Call& call);
  Reply take_back_rating(const Call& call);
  Reply comments(const Call& call);
  Reply add_comment(const Call& call);
  Reply change_comment(const Call& call);
  Reply remove_comment(const Call& call);
  Reply report(const Call& call, bool is_comment);
  Reply reports(const Call& call);
  Reply close_report(const Call& call);
  Reply hide_comment(const Call& call);
  Reply show_comment(const Call& call);
  Reply hide(const Call& call, bool on);
  Reply reviews(const Call& call);
  Reply review(const Call& call);
  Reply domains(const Call& call);
  Reply prove_domain(const Call& call);
  Reply remove_domain(const Call& call);
  Reply feedback_page_of(const std::string& package, const Call& call);

  Dependencies dependencies_;
  const SiteOptions options_;
  DownloadCounter downloads_, installs_;
  AuthorActions actions_;
  FeedbackActions opinions_;
  DomainActions domains_;
  TokenActions tokens_;
  AccountSite account_pages_;
  IndexTexts index_, search_index_;
  const std::string openapi_;
  RateLimit reads_, writes_;
};

}  // namespace mist::catalog
