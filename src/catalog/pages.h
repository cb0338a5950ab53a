#pragma once
// The catalog's web pages, whole without JavaScript. Pure: data in, HTML out. Any thread.

#include <optional>
#include <string>
#include <vector>

#include "catalog/account_store.h"
#include "catalog/feedback_store.h"
#include "catalog/input_form.h"
#include "catalog/markup.h"
#include "catalog/model.h"
#include "catalog/page_frame.h"
#include "catalog/previews.h"
#include "catalog/store.h"
#include "catalog/version_changes.h"

namespace mist::catalog {

std::string home_page(const PageFrame& frame, const Store::Counts& counts, const std::vector<Listed>& newest);
/// "q=etcd&format=Kube&state=passed", with what isn't empty.
std::string query_of(const Search& search);
std::string search_page(const PageFrame& frame, const Search& search, const Facets& facets,
                        const Slice<Listed>& found);
/// The data on a version's page, beside the version itself.
struct PackageView {
  std::optional<Project> project = {};
  std::optional<Run> run = {};
  std::int64_t recent_downloads = 0;    ///< of all versions, in the last 30 days
  Store::Installs installs = {};        ///< of all versions; recent: in the last 30 days
  std::vector<OwnDomain> domains = {};  ///< of the owner
  Ratings ratings = {};
  std::int64_t comments = 0;  ///< that aren't hidden
  Markup controls = {};       ///< what the visitor may do with it
};
/// `versions` has `shown`.
std::string package_page(const PageFrame& frame, const Version& shown,
                         const std::vector<VersionBrief>& versions, const PackageView& view);
/// Its inputs as a form, beside the values that `answers` give and how to install it with them. `preview` of
/// its objects in the browser; nullopt: the catalog has none.
std::string inputs_page(const PageFrame& frame, const Version& shown, const std::optional<Project>& project,
                        const FormAnswers& answers, const std::optional<Preview>& preview);
/// How mistctl names it: "git+https://…?ref=v1.0.0"; without a project by its name.
std::string reference_of(const Version& version, const std::optional<Project>& project);
std::string test_page(const PageFrame& frame, const Version& shown, const std::optional<Run>& run);
/// `versions` has both.
std::string changes_page(const PageFrame& frame, const VersionBrief& shown,
                         const std::vector<VersionBrief>& versions, const VersionChanges& changes);
std::string submit_page(const PageFrame& frame);

}  // namespace mist::catalog
