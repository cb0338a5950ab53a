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
        // What else can't be written, the writer says.
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

    fn serialize_bool(self, _: bool) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_i8(self, _: i8) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_i16(self, _: i16) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_i32(self, _: i32) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_i64(self, _: i64) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_i128(self, _: i128) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_u8(self, _: u8) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_u16(self, _: u16) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_u32(self, _: u32) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_u64(self, _: u64) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_u128(self, _: u128) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_char(self, _: char) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_str(self, _: &str) -> Result<(), Refusal> {
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Refusal> {
        Ok(())
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

/// What a list, a map or a struct has.
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
}

impl SerializeSeq for Members {
    type Ok = ();
    type Error = Refusal;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        self.check_item(value)
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
}

impl SerializeTuple for Members {
    type Ok = ();
    type Error = Refusal;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        self.check_item(value)
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
}

impl SerializeTupleStruct for Members {
    type Ok = ();
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        self.check_item(value)
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
}

impl SerializeTupleVariant for Members {
    type Ok = ();
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        self.check_item(value)
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
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

impl SerializeStruct for Members {
    type Ok = ();
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Refusal> {
        value.serialize(self.place.member(name))
    }

    fn end(self) -> Result<(), Refusal> {
        Ok(())
    }
}

impl SerializeStructVariant for Members {
    type Ok = ();
    type Error = Refusal;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Refusal> {
        value.serialize(self.place.member(name))
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
