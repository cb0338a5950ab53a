#include "registry/registry_fetcher.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "registry/file_trust.h"

namespace mist::registry {
namespace {

// Of bytes, or of what is said of them; not a failure that may be over the next time.
bool is_refusal(ErrorKind kind) {
  using enum ErrorKind;
  return kind == Forbidden || kind == Conflict || kind == Invalid;
}

}  // namespace

RegistryFetcher::RegistryFetcher(const ConfiguredRegistries& configured, const KnownPackages& known,
                                 const OciFetcher& oci, const ChartJudge& charts, OciTrust& trust)
    : configured_(configured), known_(known), oci_(oci), charts_(charts), trust_(trust) {}

Status RegistryFetcher::check_rule_is_for_git(const RegistryRef& reference,
                                              const oci::Repository& repository) const {
  MIST_TRY(const trust::Rule rule, trust_.rule_for(package_of(reference)));
  if (rule.mode != trust::Mode::Require) return {};
  return error(ErrorKind::Forbidden, "the trust policy's rule {} can't be held for {}", rule.match,
               repository.str())
      .with_because(fmt::format("{} is an OCI registry, and the rule ({}) is for one in git or a directory",
                                reference.registry, rule.place))
      .with_hint(fmt::format("write it for {}", repository.str()));
}

Result<std::optional<oci::Reference>> RegistryFetcher::oci_reference(const PackageRef& reference) const {
  MIST_TRY(std::optional<oci::Reference> there, configured_.oci_reference(reference));
  const auto* const named = std::get_if<RegistryRef>(&reference.form());
  if (there && named != nullptr) MIST_TRY_VOID(check_rule_is_for_git(*named, there->repository));
  return there;
}

Status RegistryFetcher::check_trust(RegistryView& view, const RegistryRef& reference,
                                    const PackageContent& content, const crypto::Digest& digest,
                                    Judged judged, const Context& context) const {
  const RegistryView::Accept accept = known_.refusing(reference.registry);
  const std::string_view address = view.chart_repository();
  if (!address.empty() && judged == Judged::Later) return {};
  if (!address.empty())
    return charts_.check(
        address, reference, content, digest, [&] { return view.provenance(reference, context, accept); },
        context);
  return check_file_trust(trust_, reference, content, digest, [&](const std::string& path) {
    return view.signature(reference, path, context, accept);
  });
}

// The state that is here may be older than the bytes that the reference names.
Result<ReadPackage> RegistryFetcher::read_as_named(RegistryView& view, const RegistryRef& reference,
                                                   const Context& context) const {
  std::optional<NamedBytes> named;
  if (reference.digest) named = NamedBytes{pin_key(reference), *reference.digest};
  const RegistryView::Accept accept = known_.refusing(reference.registry, named);
  Result<ReadPackage> read = view.read(reference, context, accept);
  if (!read || !named || !view.is_remote() || digest_of(read->content) == named->digest) return read;
  const Result<RegistryView::Moved> moved = view.update(context, accept);
  if (moved) return view.read(reference, context, accept);
  // A newer state that isn't accepted says more than that the bytes are others.
  if (moved.error().kind == ErrorKind::Conflict) return moved.error();
  return read;
}

Result<Fetched> RegistryFetcher::fetch(const RegistryRef& wanted, const Context& context, Judged judged,
                                       const MayKeep& may_keep) const {
  MIST_TRY(const std::optional<oci::Reference> there, oci_reference(PackageRef(wanted)));
  if (there) {
    // Before the tag is pinned, and signers are remembered: both would refuse the right bytes once the
    // registry has them again.
    const MayKeep keeps = [&](const Fetched& fetched) -> Result<bool> {
      MIST_TRY_VOID(check_digest(PackageRef(wanted), wanted.digest, fetched.digest));
      return may_keep ? may_keep(fetched) : Result<bool>(true);
    };
    return oci_.fetch(*there, context, wanted.digest ? ChangedVersions::Once : ChangedVersions::Refuse,
                      keeps);
  }
  MIST_TRY(const std::unique_ptr<RegistryView> view, configured_.open(wanted.registry));
  MIST_TRY(const RegistryRef reference, view->exact(wanted, context, known_.refusing(wanted.registry)));
  const std::string key = pin_key(reference);
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(reference.registry, key));
  // A digest in the reference says which bytes are right. A pin of others stays all the same: it is for those
  // that name the version alone.
  const bool is_named = pin && reference.digest && *reference.digest != pin->digest;
  if (pin && !is_named && view->is_remote())
    if (std::optional<Fetched> cached = known_.from_cache(PackageRef(reference), *pin)) {
      MIST_TRY_VOID(check_trust(*view, reference, cached->content, cached->digest, judged, context));
      return *std::move(cached);
    }
  MIST_TRY(ReadPackage read, read_as_named(*view, reference, context));
  const crypto::Digest digest = digest_of(read.content);
  Fetched fetched{std::move(read.content), digest, PackageRef(reference), std::move(read.origin)};
  // Whether the version is known by these bytes from now on.
  const auto take = [&]() -> Result<bool> {
    MIST_TRY_VOID(check_digest(PackageRef(reference), reference.digest, digest));
    MIST_TRY_VOID(check_trust(*view, reference, fetched.content, digest, judged, context));
    if (may_keep) {
      MIST_TRY(const bool keeps, may_keep(fetched));
      if (!keeps) return false;
    }
    if (is_named) return true;
    MIST_TRY_VOID(known_.record(reference.registry, pin,
                                {.reference = key,
                                 .digest = digest,
                                 .is_tree = std::holds_alternative<PackageTree>(fetched.content),
                                 .object = read.object,
                                 .origin = fetched.origin}));
    return true;
  };
  const Result<bool> taken = take();
  if (taken ? !*taken : is_refusal(taken.error().kind)) view->doubt_state();
  if (!taken) return taken.error();
  if (*taken && view->is_remote()) known_.keep(digest, fetched.content);
  return fetched;
}

}  // namespace mist::registry
