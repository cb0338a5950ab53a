//! The package; what it does is in the library, which other crates can call without a host.

use etcd::generate;

mistletoe::mistletoe_package! { file = "mistletoe.yaml" }
