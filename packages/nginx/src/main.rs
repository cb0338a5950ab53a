//! The package; what it does is in the library, which other crates can call without a host.

use nginx::generate;

mistletoe::mistletoe_package! { file = "mistletoe.yaml" }
