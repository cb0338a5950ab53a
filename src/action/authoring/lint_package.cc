#include "action/authoring/lint_package.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "apimachinery/pod_security.h"
#include "apply/order/pod_template.h"
#include "apply/plan/custom_schema.h"
#include "apply/plan/desired.h"
#include "apply/plan/test_objects.h"
#include "base/text.h"
#include "kpm/k3.h"
#include "package/capabilities.h"
#include "package/installation_fault.h"
#include "render/drawn.h"

namespace mist::action {
namespace {

using apimachinery::KubeMinor;
using apimachinery::KubeTypes;
using package::Finding;
using package::finding;
using package::finding_of;
using package::Rendered;
using package::RenderRequest;
using package::TestCase;

constexpr std::size_t kMostDrawn = 20;  // fields that are named; more say the same

class PackageLint {
 public:
  PackageLint(const FileSystem& files, package::Renderer& renderer, const PackageCases& cases,
              const package::TypeStore& types, const Context& context)
      : files_(files),
        renderer_(renderer),
        cases_(cases),
        types_(types),
        context_(context),
        engine_(package::engine_of(cases.source).value_or(nullptr)) {}  // what is wrong, rendering says

  Result<std::vector<Finding>> run() {
    if (const auto* const tree = std::get_if<package::Files>(&cases_.source.content)) {
      kube_metadata(*tree);
      if (package::packed_chart(*tree) == nullptr)
        add_all(package::lint_files(*tree, engine_, cases_.schema));
    }
    MIST_TRY(const std::vector<std::string> names, package_case_names(files_, cases_.folder));
    if (names.empty())
      found_.push_back(finding("untested", {}, 0, "there are no test cases: mistctl help package says how"));
    std::set<std::string> golden;
    bool one_renders = false;
    for (const std::string& name : names) {
      MIST_TRY(const bool renders, one_case(name, golden));
      one_renders = one_renders || renders;
    }
    MIST_TRY_VOID(orphans(golden));
    MIST_TRY_VOID(defaults(one_renders));
    package::sort_findings(found_);
    return std::move(found_);
  }

 private:
  void add_all(std::vector<Finding> more) {
    found_.insert(found_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  // kpm and catalogs read this file, whatever engine renders the package.
  void kube_metadata(const package::Files& files) {
    const std::string file(kpm::kMetadataFile);
    const auto text = files.find(file);
    if (text == files.end()) return;
    for (const Error& fault : kpm::k3_faults(text->second, file)) {
      Finding bad = finding_of("metadata", fault, "");
      if (!fault.hint.empty()) bad.message += "; " + fault.hint;
      if (fault.where) bad.column = fault.where->column;
      found_.push_back(std::move(bad));
    }
  }
  std::string in_tests(const std::string& file) const {
    return fmt::format("{}/{}", package::kTestsFolder, file);
  }

  // Not of the package: its engine isn't here.
  static bool of_this_machine(const Error& failure) {
    return failure.detail<package::InstallationFault>() != nullptr;
  }

  // Whether it renders.
  Result<bool> one_case(const std::string& name, std::set<std::string>& golden) {
    const auto test = read_package_case(files_, cases_.folder, name);
    if (!test.ok()) {
      Finding bad = finding_of("case", test.error(), "");
      bad.file = in_tests(name + ".yaml");
      found_.push_back(std::move(bad));
      return false;
    }
    if (test->golden) golden.insert(*test->golden);
    if (test->error) return false;  // mistctl package test says whether it is that error
    const RenderRequest request = request_for(cases_, *test, engine_);
    auto rendered = renderer_.render(cases_.source, request, context_);
    MIST_TRY_VOID(context_.check());
    if (!rendered.ok() && of_this_machine(rendered.error())) return std::move(rendered).error();
    if (!rendered.ok()) {
      failures_[finding_of("render", rendered.error(), "")].push_back(name);
      return false;
    }
    MIST_TRY_VOID(objects(*std::move(rendered), request, kube_version_of(cases_, *test)));
    return true;
  }

  // A failure that several cases share, perhaps with the default values, is one finding.
  void failures_of_cases(const std::optional<Finding>& of_defaults) {
    constexpr std::size_t kMostNamed = 5;
    for (const auto& [failure, names] : failures_) {
      std::string where = fmt::format("in the test case {}", names.front());
      if (names.size() > 1) {
        const std::vector<std::string> named(
            names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed)));
        where = fmt::format("in {} test cases ({}{})", names.size(), join(named, ", "),
                            names.size() > kMostNamed ? ", …" : "");
      }
      if (of_defaults == failure) where.insert(0, "with the default values and ");
      Finding bad = failure;
      bad.message = fmt::format("{}: {}", where, bad.message);
      if (bad.file.empty()) bad.file = in_tests(names.front() + ".yaml");
      found_.push_back(std::move(bad));
    }
  }

  // Of the Kubernetes of that name; null: they aren't here, which is a finding.
  Result<std::shared_ptr<const KubeTypes>> types_of(std::string_view kube_version) {
    if (kube_version.empty()) kube_version = package::kAssumedKubeVersion;
    const auto minor = KubeMinor::parse(kube_version);
    if (!minor || !types_.has(*minor)) {
      found_.push_back(
          finding("unchecked", {}, 0,
                  fmt::format("kinds and fields are not checked for Kubernetes {}: mistctl has the "
                              "schemas of {}",
                              minor ? minor->text() : std::string(kube_version),
                              types_.minors().empty() ? "none" : types_.minors())));
      return std::shared_ptr<const KubeTypes>();
    }
    std::shared_ptr<const KubeTypes>& known = known_[*minor];
    if (known == nullptr) {
      MIST_TRY(known, types_.types(files_, *minor));
    }
    return known;
  }

  Status objects(Rendered rendered, const RenderRequest& request, const std::string& kube_version) {
    MIST_TRY(const std::shared_ptr<const KubeTypes> types, types_of(kube_version));
    add_all(package::lint_objects(rendered, engine_, request.release_namespace, types.get()));
    for (const apimachinery::RenderedObject& each : rendered.objects) pod_security(each);
    const Status good = installable(std::move(rendered), {request.release_namespace, request.release_name});
    if (!good.ok()) found_.push_back(package::finding_of_object(good.error()));
    return {};
  }

  // One finding for a workload: the first reason at its place, the others in words.
  void pod_security(const apimachinery::RenderedObject& each) {
    const encoding::Value* const pod = apply::pod_template(each.object);
    if (pod == nullptr) return;
    auto faults = apimachinery::pod_security_faults(*pod);
    std::erase_if(faults,
                  [](const auto& fault) { return fault.needs != apimachinery::PodSecurity::Privileged; });
    if (faults.empty()) return;
    constexpr std::size_t kShown = 3;
    std::vector<std::string> reasons;
    for (const auto& fault : faults)
      if (reasons.size() < kShown)
        reasons.push_back(fault.place.empty() ? fault.what : fmt::format("{}: {}", fault.place, fault.what));
    if (faults.size() > kShown) reasons.push_back(fmt::format("and {} more", faults.size() - kShown));
    found_.push_back(package::finding_at("pod-security", each, faults.front().position,
                                         fmt::format("{} needs the Pod Security level privileged: {}",
                                                     each.object.key().display(), join(reasons, "; "))));
  }

  // The checks that its installation makes, and every later change.
  Status installable(Rendered rendered, const release::ReleaseId& id) {
    using enum apply::HookVerb;
    std::vector<apimachinery::RenderedObject> hooks;
    if (rendered.engine == apply::kChartEngine) hooks = apply::take_chart_parts(rendered.objects).hooks;
    MIST_TRY_VOID(apply::take_tests(rendered.objects));
    for (const apply::HookVerb verb : {Install, Upgrade, Rollback, Uninstall}) {
      // Uninstalling deletes the objects, so its hooks may be named as they like.
      auto objects = verb == Uninstall ? std::vector<apimachinery::RenderedObject>() : rendered.objects;
      MIST_TRY(const apply::WithHooks wanted,
               apply::prepare_with_hooks_offline(std::move(objects), hooks, verb, id));
      MIST_TRY(const std::vector<apply::CustomResourceFault> faults,
               apply::custom_resource_faults(wanted.desired, apply::changes_by(wanted.desired)));
      for (const apply::CustomResourceFault& each : faults)
        found_.push_back(package::finding_at("object", each.object->rendered, each.position, each.words()));
      if (hooks.empty()) break;
    }
    return {};
  }

  Status defaults(bool a_case_renders) {
    const RenderRequest request = default_request_for(cases_, engine_);
    auto rendered = renderer_.render(cases_.source, request, context_);
    MIST_TRY_VOID(context_.check());
    if (!rendered.ok() && of_this_machine(rendered.error())) return std::move(rendered).error();
    if (!rendered.ok()) {
      const std::string_view rule = a_case_renders ? "needs-values" : "render";
      const Finding bad = finding_of(rule, rendered.error(), "");
      failures_of_cases(bad);
      if (!failures_.contains(bad))
        found_.push_back(finding_of(rule, rendered.error(), "with the default values"));
      return {};
    }
    failures_of_cases(std::nullopt);
    RenderRequest other_seed = request;
    other_seed.seed.front() ^= std::byte{0xff};
    MIST_TRY_VOID(compare(*rendered, other_seed, "drawn",
                          "is drawn at random: other in each release, and the same "
                          "in all its revisions"));
    RenderRequest other_clock = request;
    other_clock.clock += std::chrono::hours(24 * 400 + 7) + std::chrono::minutes(11);
    MIST_TRY_VOID(
        compare(*rendered, other_clock, "clock", "depends on the time of the release's first install"));
    return objects(*std::move(rendered), request, cases_.kube_version);
  }

  Status compare(const Rendered& rendered, const RenderRequest& other, std::string_view rule,
                 std::string_view what) {
    const auto again = renderer_.render(cases_.source, other, context_);
    MIST_TRY_VOID(context_.check());
    if (!again.ok()) {
      found_.push_back(finding_of("render", again.error(), "with another seed or clock, though not always"));
      return {};
    }
    const release::Drawn nothing;
    const std::vector<release::DrawnField> fields = render::drawn_fields(
        {nothing, rendered.secrets, render::view_of(rendered.objects)}, render::view_of(again->objects));
    for (std::size_t i = 0; i < std::min(fields.size(), kMostDrawn); ++i)
      found_.push_back(
          finding(rule, {}, 0, fmt::format("{}: {} {}", fields[i].key.display(), fields[i].path, what)));
    if (fields.size() > kMostDrawn)
      found_.push_back(finding(rule, {}, 0, fmt::format("so do {} more fields", fields.size() - kMostDrawn)));
    return {};
  }

  Status orphans(const std::set<std::string>& golden) {
    if (!files_.is_directory(cases_.folder)) return {};
    MIST_TRY(const std::vector<DirectoryEntry> entries, files_.list(cases_.folder));
    for (const DirectoryEntry& entry : entries) {
      if (!entry.is_directory && entry.name.ends_with(package::kGoldenEnding) && !golden.contains(entry.name))
        found_.push_back(finding("golden", in_tests(entry.name), 0, "no test case compares with it"));
    }
    return {};
  }

  const FileSystem& files_;
  package::Renderer& renderer_;
  const PackageCases& cases_;
  const package::TypeStore& types_;
  std::map<KubeMinor, std::shared_ptr<const KubeTypes>> known_;
  const Context& context_;
  const package::EngineKind* engine_;
  std::vector<Finding> found_;
  std::map<Finding, std::vector<std::string>> failures_;  // to render; with the names of the cases
};

}  // namespace

Result<std::vector<Finding>> lint_package(const FileSystem& files, package::Renderer& renderer,
                                          const PackageCases& cases, const package::TypeStore& types,
                                          const Context& context) {
  return PackageLint(files, renderer, cases, types, context).run();
}

}  // namespace mist::action
