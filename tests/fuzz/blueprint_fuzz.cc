// What a blueprint's Nickel program describes: any document is a blueprint or a good error, and its order is
// one.
#include "blueprint/blueprint.h"

#include <vector>

#include "encoding/yaml.h"
#include "targets.h"

namespace mist::fuzz {

void blueprint(std::string_view bytes) {
  const auto documents = encoding::parse_yaml_documents(bytes);
  if (!documents.ok() || documents->empty()) return;
  const auto blueprint = blueprint::Blueprint::parse(documents->front());
  if (!blueprint.ok()) return check_error(blueprint.error());
  const std::size_t nodes = blueprint->nodes().size();
  if (blueprint->order().size() != nodes) fail("not every node has its turn", bytes);
  std::vector<std::size_t> turn(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    if (blueprint->order()[i] >= nodes) fail("a node that isn't there", bytes);
    turn[blueprint->order()[i]] = i;
  }
  for (const blueprint::SequenceEdge& edge : blueprint->sequence())
    if (edge.from < nodes && edge.to < nodes && turn[edge.from] >= turn[edge.to])
      fail("not in their order", bytes);
  (void)blueprint->wanted(documents->back(),
                          [](graph::Node node) { return static_cast<graph::Truth>(node % 3); });
}

}  // namespace mist::fuzz
