#pragma once
// The contents of a container in the cluster: all that goes when the container is deleted. A Namespace takes
// along everything in it, a CustomResourceDefinition every object of its kind in the cluster. containers.h
// uses it to decide. Reads only, metadata only; a LIST for each kind. Blocking; any thread.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "action/environment.h"

namespace mist::action {

/// The contents of a container, given the objects that go anyway.
struct Contents {
  struct Foreign {
    std::string display;  ///< "ConfigMap shop/theirs"
    std::string uid;
  };
  /// Other releases' objects, and what is annotated to be kept; in words, sorted.
  std::vector<std::string> staying;
  std::vector<Foreign> foreign;         ///< the rest that isn't the release's; sorted by `display`
  std::vector<std::string> unreadable;  ///< what couldn't be looked at, and why; sorted
  std::set<std::string> tied;           ///< uids of what owners tie to what goes, directly or not
  std::set<std::string> namespaces;     ///< of what is foreign or tied
};

/// Objects that are deleted in any case.
struct DeletionSet {
  std::set<std::string> uids;
  std::set<std::string> api_services;            ///< names; what only these serve is nobody's loss
  std::set<std::string> freed = {};              ///< uids of what has lost all its owners by then
  std::set<apimachinery::GroupKind> kinds = {};  ///< all their objects go, whoever made them
};

/// One look into a container, which may be judged again and again.
class ContainerView {
 public:
  /// Discovery is asked again: kinds may have come since it was.
  static Result<ContainerView> of_namespace(const Environment& environment, const apply::Owner& id,
                                            const std::string& ns, const Context& context);
  /// Empty if there is no such CRD. Of several served versions the first one counts in which its
  /// objects can be read: a conversion webhook that is down doesn't concern what is stored in that version.
  static Result<ContainerView> of_crd(const Environment& environment, const apply::Owner& id,
                                      const std::string& name, const Context& context);

  /// The claims, Secrets and ConfigMaps of a namespace ("": of all), of the kinds that the user may list, and
  /// the owners of those that stay. For owners_of_kept() and claims_with_owners().
  static Result<ContainerView> of_data(const Environment& environment, const apply::Owner& id,
                                       const std::string& ns, const Context& context);

  /// The kind of a CRD; empty if there is none.
  const apimachinery::GroupKind& defined() const { return defined_; }

  /// Neither foreign nor tied: what each namespace has by itself, the release's record, what is being
  /// deleted, and what the garbage collector is about to delete because all its owners are gone.
  Contents judge(const DeletionSet& deletions) const;
  /// By the uid of an owner, direct or not: what stays, in words, and would lose its last owner, so that the
  /// garbage collector would take it.
  std::map<std::string, std::string> owners_of_kept(const DeletionSet& deletions) const;
  /// An object that stays and would lose its last owner in the same way, and that an object of this kind
  /// owns, directly or not; in words. Empty: there is none.
  std::string kept_below(const apimachinery::GroupKind& kind, const DeletionSet& deletions) const;
  /// An object in one of these namespaces ("" among them: in any) that stays and may lose its last owner in
  /// the same way, through an owner that couldn't be read; in words, with that owner. Empty: there is none.
  std::string kept_by_unread_owners(const DeletionSet& deletions,
                                    const std::set<std::string>& namespaces = {""}) const;
  /// By the uid of an owner that goes: the claims that the garbage collector takes along with it.
  std::map<std::string, std::vector<std::string>> claims_with_owners(const DeletionSet& deletions) const;

 private:
  struct Owner {
    std::string uid;
    apimachinery::GroupKind kind;
    std::string version, name;
  };
  struct Item {
    std::string display;
    std::string stays = {};  // why it does, whatever else goes: "belongs to release a/b"
    bool record = false;     // of the release itself
    bool harmless = false;   // nobody misses it
    bool terminating = false;
    bool copied = false;  // a controller made it with the labels and annotations of its owner
    bool claim = false;
    std::string ns = {};
    std::vector<Owner> owners = {};

    bool is_kept() const { return !stays.empty() && !copied; }
  };
  struct Missing {
    Owner owner;
    std::string ns;  // of what it owns
  };
  struct Unreadable {
    std::string words;
    std::string api_service;  // that should serve it
  };

  void add(const apply::Owner& id, const kube::ResourceInfo& resource, const encoding::Value& object);
  bool would_be_lost(const std::string& uid, const DeletionSet& deletions) const;
  bool is_below(const Item& item, const apimachinery::GroupKind& kind, int depth) const;
  bool is_tied(const std::string& uid, const DeletionSet& deletions, int depth) const;
  bool is_garbage(const Item& item) const;
  Status add_owners_of_kept(const Environment& environment, const apply::Owner& id, const std::string& ns,
                            const Context& context);
  Status add_owners(const Environment& environment, const apply::Owner& id,
                    const std::vector<Missing>& owners, const std::string& ns, const Context& context);
  Status get_owner(const Environment& environment, const apply::Owner& id, const kube::ResourceInfo& resource,
                   const Missing& missing, const Context& context);
  Status list_owners(const Environment& environment, const apply::Owner& id,
                     const kube::ResourceInfo& resource, const std::vector<Missing>& owners,
                     const std::string& ns, const Context& context);
  void note_unread(const Owner& owner, const std::string& why);
  std::string unread_owner(const Item& item, const DeletionSet& deletions, int depth) const;
  void note_ancestors(const Item& item, const std::string& words, std::map<std::string, std::string>& result,
                      int depth) const;

  std::map<std::string, Item> items_;        // by uid
  std::vector<std::string> kept_and_owned_;  // uids
  // Of the owners of what is kept, by uid: those that are gone, and, in words, those that couldn't be read.
  std::set<std::string> absent_;
  std::map<std::string, std::string> unread_;
  std::set<apimachinery::GroupKind> kinds_asked_;  // of the owners
  std::set<apimachinery::GroupKind> kinds_;        // all there are of these were added
  std::vector<Unreadable> unreadable_;
  apimachinery::GroupKind defined_;
};

/// "2 objects in it are not the release's (ConfigMap shop/theirs, …)".
std::string foreign_words(const std::vector<Contents::Foreign>& foreign);

}  // namespace mist::action
