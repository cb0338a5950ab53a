//! The check that no number gets lost: JSON has neither NaN nor infinity, and its writer puts null in their place.

use std::fmt::{self, Display};

use serde::Serialize;
use serde::ser::{
    self, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant, Serializer,
};
use serde_json::Value;

/// Refuses a value with a number that isn't finite, with the path to it. A [`Value`] can't have one any more: `json!` has
/// made it null.
pub(crate) fn check<T: Serialize + ?Sized>(value: &T) -> anyhow::Result<()> {
    match value.serialize(Place(String::new())) {
        Err(Refusal::NotFinite(words)) => Err(anyhow::Error::msg(words)),
        // The writer reports whatever else can't be written.
        Err(Refusal::Other) | Ok(()) => Ok(()),
    }
}

/// A [`Value`] that has every number of `value`.
pub(crate) fn to_value<T: Serialize + ?Sized>(value: &T) -> anyhow::Result<Value> {
    check(value)?;
    Ok(serde_json::to_value(value)?)
}

#[derive(Debug)]
enum Refusal {
    NotFinite(String),
    Other,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite(words) => f.write_str(words),
            Self::Other => f.write_str("it can't be written"),
        }
    }
}

impl std::error::Error for Refusal {}

impl ser::Error for Refusal {
    fn custom<T: Display>(_: T) -> Self {
        Self::Other
    }
}

/// Where a value is, as a path: `.spec.ports[0]`.
struct Place(String);

impl Place {
    fn member(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0))
    }

    fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    fn members(self) -> Members {
        Members { place: self, key: String::new(), items: 0 }
    }

    fn number(&self, value: f64) -> Result<(), Refusal> {
        if value.is_finite() {
            return Ok(());
        }
        let path = self.0.strip_prefix('.').unwrap_or(&self.0);
        let path = if path.is_empty() { "the value" } else { path };
        let number = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        Err(Refusal::NotFinite(format!("{path} is {number}, which neither JSON nor YAML has")))
    }
}

macro_rules! never_refused {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method(self, _: $type) -> Result<(), Refusal> {
            Ok(())
        }
    )*};
}

impl Serializer for Place {
    type Ok = ();
    type Error = Refusal;
    type SerializeSeq = Members;
    type SerializeTuple = Members;
    type SerializeTupleStruct = Members;
    type SerializeTupleVariant = Members;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    fn serialize_f32(self, value: f32) -> Result<(), Refusal> {
        self.number(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Refusal> {
        self.number(value)
    }

    never_refused! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_char: char,
        serialize_str: &str,
        serialize_bytes: &[u8],
    }

    fn serialize_none(self) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refusal> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Refusal> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Refusal> {
        value.serialize(self.member(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members, Refusal> {
        Ok(self.members())
    }

    fn serialize_tuple(self, _: usize) -> Result<Members, Refusal> {
        Ok(self.members())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Members, Refusal> {
        Ok(self.members())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members, Refusal> {
        Ok(self.member(variant).members())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, Refusal> {
        Ok(self.members())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members, Refusal> {
        Ok(self.members())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members, Refusal> {
        Ok(self.member(variant).members())
    }
}

/// The members of a list, a map or a struct.
struct Members {
    place: Place,
    key: String,
    items: usize,
}

impl Members {
    fn check_item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        let place = self.place.item(self.items);
        self.items += 1;
        value.serialize(place)
    }

    fn check_member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Refusal> {
        value.serialize(self.place.member(name))
    }
}

/// Serde has several traits for lists and for structs; each kind is checked in one way.
macro_rules! checked {
    ($($trait:ident { $method:ident($($name:ident: $type:ty)?) => $check:ident })*) => {$(
        impl $trait for Members {
            type Ok = ();
            type Error = Refusal;

            fn $method<T: Serialize + ?Sized>(&mut self, $($name: $type,)? value: &T) -> Result<(), Refusal> {
                self.$check($($name,)? value)
            }

            fn end(self) -> Result<(), Refusal> {
                Ok(())
            }
        }
    )*};
}

checked! {
    SerializeSeq { serialize_element() => check_item }
    SerializeTuple { serialize_element() => check_item }
    SerializeTupleStruct { serialize_field() => check_item }
    SerializeTupleVariant { serialize_field() => check_item }
    SerializeStruct { serialize_field(name: &'static str) => check_member }
    SerializeStructVariant { serialize_field(name: &'static str) => check_member }
}

impl SerializeMap for Members {
    type Ok = ();
    type Error = Refusal;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refusal> {
        self.key = match serde_json::to_value(key) {
            Ok(Value::String(text)) => text,
            Ok(other) => other.to_string(),
            Err(_) => String::new(),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        value.serialize(self.place.member(&self.key))
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize)]
    enum Kind {
        One(f64),
        Two(u8, f64),
        Three { a: f64 },
    }

    #[derive(Serialize)]
    struct Thing {
        ratio: Option<f32>,
        parts: Vec<BTreeMap<String, f64>>,
        kind: Kind,
    }

    fn thing() -> Thing {
        Thing {
            ratio: Some(0.5),
            parts: vec![BTreeMap::new(), BTreeMap::from([("b".into(), 1e300)])],
            kind: Kind::One(1.0),
        }
    }

    #[test]
    fn every_number_that_is_not_finite_is_named_with_its_path() {
        let refused = |change: fn(&mut Thing)| {
            let mut thing = thing();
            change(&mut thing);
            check(&thing).unwrap_err().to_string()
        };
        assert!(check(&thing()).is_ok());
        let rest = "which neither JSON nor YAML has";
        assert_eq!(refused(|thing| thing.ratio = Some(f32::NAN)), format!("ratio is NaN, {rest}"));
        assert_eq!(
            refused(|thing| thing.parts[1] = BTreeMap::from([("b".into(), f64::INFINITY)])),
            format!("parts[1].b is Infinity, {rest}")
        );
        assert_eq!(
            refused(|thing| thing.kind = Kind::Two(1, f64::NEG_INFINITY)),
            format!("kind.Two[1] is -Infinity, {rest}")
        );
        assert_eq!(refused(|thing| thing.kind = Kind::Three { a: f64::NAN }), format!("kind.Three.a is NaN, {rest}"));
        assert_eq!(check(&f64::NAN).unwrap_err().to_string(), format!("the value is NaN, {rest}"));
    }

    #[test]
    fn what_else_can_not_be_written_is_left_to_the_writer() {
        let object = BTreeMap::from([(vec![1], 1)]);
        assert!(check(&object).is_ok());
        assert!(to_value(&object).is_err());
    }
}
