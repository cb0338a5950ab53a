//! The doors between a host and a package; called by the code that `mistletoe_package!` writes, by nobody else.

#[cfg(feature = "component")]
pub mod component;
pub mod v1;
pub mod v1alpha1;
