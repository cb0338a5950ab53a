//! What contracts ask, as schemas in the dialect of CustomResourceDefinitions (OpenAPI v3).
//!
//! A contract is a function, so nothing can be read off it, with three exceptions:
//!
//! * Record contracts and types are data: fields, their documentation, their defaults, which of them are optional.
//! * A few contracts of the standard library are known by identity ([`KNOWN`]).
//! * The contracts of mistletoe.ncl answer when they are applied to [`PROBE`], a text that no value has: with a record
//!   that has the schema, and perhaps a contract that they wrap.
//!
//! Everything else is opaque, and is reported with its place: the schema is what the others ask.
//!
//! A contract that calls others, such as `std.contract.any_of`, may pass on the answer of one of them although it accepts
//! more. A schema that refuses what the contract accepts would be wrong, so an answer counts only if two things hold:
//! applied to a text that the contracts of mistletoe.ncl all refuse, it fails with their words, [`REFUSED`]; and it accepts
//! none of [`SAMPLES`] that the schema refuses.
//!
//! A default may be computed from other fields, and an instance may set these; the default of a CRD is a constant. So each
//! field is described in a record in which the others fail, with [`UNKNOWN`], wherever an instance may set something. Where
//! that finds such a default, the schema with the constants that it came to once is told too: CRDs in use have them.

use guest::{Object, Value, json};
use nickel_lang_core::cache::InputFormat;
use nickel_lang_core::error::{EvalError, EvalErrorKind};
use nickel_lang_core::eval::cache::Cache;
use nickel_lang_core::eval::merge::MergeMode;
use nickel_lang_core::eval::value::{Container, NickelValue, RecordData, ValueContentRef};
use nickel_lang_core::eval::{Closure, Environment};
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::label::Label;
use nickel_lang_core::position::PosIdx;
use nickel_lang_core::term::record::Field;
use nickel_lang_core::term::{BindingType, MergePriority, RuntimeContract, Term};
use nickel_lang_core::typ::{EnumRowsIteratorItem, Type, TypeF};

use crate::{Context, errors};

/// The field of an evaluation that holds contracts by name, each as the only contract of a field.
const FIELD: &str = "contracts";
const PROBE: &str = "mistletoe.dev/what-do-you-say";
/// What the contracts of mistletoe.ncl say of the text of [`SKELETONS`] that they all refuse.
const REFUSED: &str = "mistletoe.dev/refused";
/// Of an answer to the probe: what the contract asks, what it wraps, what the schema asks and the contract does not.
const SCHEMA: &str = "mistletoe.dev/schema";
const WRAPPED: &str = "mistletoe.dev/of";
const BEYOND: &str = "mistletoe.dev/beyond";
/// Of an answer: the contract is one that holds for nothing unless the former comes to true; the latter says why.
const SOUND: &str = "mistletoe.dev/sound";
const FAULT: &str = "mistletoe.dev/fault";
/// How a value fails that only an instance knows; its place follows.
const UNKNOWN: &str = "mistletoe.dev/unknown ";
const NULL_DEFAULT: &str =
    "its default is null, which the API server takes for none, so that the field is missing: make it optional";
const EITHER: &str = "x-kubernetes-int-or-string";
/// Types and records within one another.
const MAX_DEPTH: usize = 32;
/// Contracts that one description goes through. More would be a CRD that no server takes.
const MAX_CONTRACTS: usize = 10_000;

const SKELETONS: &str = r#"
let of = fun text => { include text, list = [text], map = { probe = text } } in
{ probe = of "mistletoe.dev/what-do-you-say", refusal = of "mistletoe.dev/refuse" }
"#;

const SAMPLES: &str = r#"
[0, 1, (-1), 0.5, 1000000007, "", "a", true, false, null, [], {}]
|> std.array.map (fun sample => { text = sample, list = [sample], map = { probe = sample } })
"#;

const KNOWN: &str = r#"
[
  { contract = std.number.Integer, schema = { type = "integer" } },
  { contract = std.number.Nat, schema = { type = "integer", minimum = 0 } },
  { contract = std.number.PosNat, schema = { type = "integer", minimum = 1 } },
  { contract = std.number.NonZero, schema = { type = "number", not = { enum = [0] } } },
  { contract = std.string.NonEmpty, schema = { type = "string", minLength = 1 } },
  { contract = std.array.NonEmpty, schema = { type = "array", minItems = 1 } },
]
"#;

/// Of an evaluation with a field `contracts`: by name `{ schema, unsaid, beyond, faults, takes_empty, frozen }`, where
/// `unsaid`, `beyond` and `faults` are lists of `{ path, what }`; a fault with `computed` is a default that is computed from
/// what an instance may set, and one with `late` is another that was not looked for before, so that blueprints in use may
/// have it. `frozen`: with the former, the schema with all defaults as constants. None: it has no such field.
pub fn described(context: &mut Context, program: &NickelValue) -> Option<Value> {
    let whole = context.machine().eval_closure(Closure::from(program.clone())).ok()?;
    let value = field_of(&whole.value, FIELD)?.value?;
    let contracts = context.machine().eval_closure(Closure { value, env: whole.env }).ok()?;
    let mut found = Object::new();
    if let Some(Container::Alloc(record)) = contracts.value.as_record() {
        let mut skeletons = Skeletons::new(context)?;
        for (name, field) in &record.fields {
            let (schema, told) = of_contracts(context, &mut skeletons, field, &contracts.env, Others::Unknown);
            let Told { unsaid, beyond, faults } = told;
            let frozen = if faults.iter().any(|fault| fault["computed"] == true) {
                Some(of_contracts(context, &mut skeletons, field, &contracts.env, Others::Known).0)
            } else {
                None
            };
            let takes_empty = takes_empty(context, field, &contracts.env);
            let said = json!({
                "schema": schema, "unsaid": unsaid, "beyond": beyond, "faults": faults, "takes_empty": takes_empty,
                "frozen": frozen,
            });
            found.insert(name.label().to_owned(), said);
        }
    }
    Some(Value::Object(found))
}

/// The schema of the contracts of a field, and what there is to tell beside it.
fn of_contracts(
    context: &mut Context,
    skeletons: &mut Skeletons,
    field: &Field,
    env: &Environment,
    others: Others,
) -> (Object, Told) {
    let mut describer = Describer { context, skeletons, others, told: Told::default(), within: Vec::new(), seen: 0 };
    let schema = describer.of_field_contracts(field, env, "", 0);
    (schema, describer.told)
}

/// Whether the contracts of a field accept a record in which nothing is set, with all their defaults.
fn takes_empty(context: &mut Context, field: &Field, env: &Environment) -> bool {
    let contracts = field.pending_contracts.iter().cloned();
    let value = RuntimeContract::apply_all(NickelValue::empty_record(), contracts, PosIdx::NONE);
    exported(context, Closure { value, env: env.clone() }).is_some()
}

fn field_of(value: &NickelValue, name: &str) -> Option<Field> {
    match value.as_record()? {
        Container::Empty => None,
        Container::Alloc(record) => {
            record.fields.iter().find(|(id, _)| id.label() == name).map(|(_, field)| field.clone())
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    let name = name.replace('.', "\\.");
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// A value that contracts are applied to: alone, in a list, and in a map.
struct Skeleton {
    text: NickelValue,
    list: NickelValue,
    map: NickelValue,
}

#[derive(Clone, Copy)]
enum Place {
    Alone,
    List,
    Map,
}

impl Skeleton {
    fn at(&self, place: Place) -> NickelValue {
        match place {
            Place::Alone => &self.text,
            Place::List => &self.list,
            Place::Map => &self.map,
        }
        .clone()
    }
}

struct Skeletons {
    probe: Skeleton,
    refusal: Skeleton,
    samples: Vec<(Skeleton, Value)>,
    known: Vec<(NickelValue, Object)>,
}

impl Skeletons {
    fn new(context: &mut Context) -> Option<Self> {
        let evaluated = |context: &mut Context, name: &str, text: &str| {
            let file = context.add(format!("/mistletoe/{name}.ncl").into(), InputFormat::Nickel, text);
            let value = context.vm.prepare_eval_only(file).ok()?;
            context.machine().eval(value).ok()
        };
        let whole = evaluated(context, "skeletons", SKELETONS)?;
        let part = |context: &mut Context, of: &NickelValue, name: &str| {
            context.machine().eval(field_of(of, name)?.value?).ok()
        };
        let skeleton = |context: &mut Context, of: &NickelValue| {
            Some(Skeleton {
                text: part(context, of, "text")?,
                list: part(context, of, "list")?,
                map: part(context, of, "map")?,
            })
        };
        let (probe, refusal) = (part(context, &whole, "probe")?, part(context, &whole, "refusal")?);
        let (probe, refusal) = (skeleton(context, &probe)?, skeleton(context, &refusal)?);
        let mut samples = Vec::new();
        if let Some(Container::Alloc(list)) = evaluated(context, "samples", SAMPLES)?.as_array() {
            for sample in list.array.iter() {
                let sample = context.machine().eval(sample.clone()).ok()?;
                let sample = skeleton(context, &sample)?;
                let value = exported(context, Closure::from(sample.text.clone()))?;
                samples.push((sample, value));
            }
        }
        let table = evaluated(context, "known", KNOWN)?;
        let mut known = Vec::new();
        if let Some(Container::Alloc(rows)) = table.as_array() {
            for row in rows.array.iter() {
                let row = context.machine().eval(row.clone()).ok()?;
                let contract = part(context, &row, "contract")?;
                let schema = exported(context, Closure::from(field_of(&row, "schema")?.value?))?;
                known.push((contract, schema.as_object()?.clone()));
            }
        }
        Some(Self { probe, refusal, samples, known })
    }
}

fn exported(context: &mut Context, closure: Closure) -> Option<Value> {
    let value = context.machine().eval_full_for_export_closure(closure).ok()?;
    serde_json::to_value(&value).ok()
}

/// What there is to tell beside the schema.
#[derive(Default)]
struct Told {
    unsaid: Vec<Value>,
    beyond: Vec<Value>,
    faults: Vec<Value>,
}

/// How a default sees the other fields that an instance may set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    Unknown,
    /// Their own defaults.
    Known,
}

struct Describer<'a> {
    context: &'a mut Context,
    skeletons: &'a mut Skeletons,
    others: Others,
    told: Told,
    /// The record contracts that the present place is in.
    within: Vec<NickelValue>,
    seen: usize,
}

impl Describer<'_> {
    fn eval(&mut self, closure: Closure) -> Option<Closure> {
        self.context.machine().eval_closure(closure).ok()
    }

    /// The contracts of one field, one after the other: a value has to meet them all.
    fn of_field_contracts(&mut self, field: &Field, env: &Environment, path: &str, depth: usize) -> Object {
        let metadata = field.metadata.0.as_ref();
        let types: Vec<Type> = metadata.map_or_else(Vec::new, |metadata| {
            metadata.annotation.iter().map(|annotation| annotation.typ.clone()).collect()
        });
        let paired = types.len() == field.pending_contracts.len();
        let mut schema = Object::new();
        let mut takes_texts = false;
        if field.pending_contracts.is_empty() {
            for typ in &types {
                let said = self.of_type(typ, None, env, path, depth);
                self.merge(&mut schema, said, path);
            }
        }
        for (index, contract) in field.pending_contracts.iter().enumerate() {
            let typ = if paired { types.get(index) } else { None };
            if let Some(rows) = typ.and_then(tags)
                && !takes_texts
            {
                self.told.faults.push(json!({
                    "path": path,
                    "what": format!("[| {} |] takes tags, and JSON has none: write std.enum.TagOrString before it, or \
                                     Enum of mistletoe.ncl in its place", rows.join(", ")),
                }));
            }
            let said = self.of_contract(typ, contract, env, path, depth);
            takes_texts |= said.get("type") == Some(&json!("string"));
            self.merge(&mut schema, said, path);
        }
        schema
    }

    fn of_contract(
        &mut self,
        typ: Option<&Type>,
        contract: &RuntimeContract,
        env: &Environment,
        path: &str,
        depth: usize,
    ) -> Object {
        let name = typ.map_or_else(|| "a contract".to_owned(), ToString::to_string);
        self.seen += 1;
        if depth > MAX_DEPTH || self.seen > MAX_CONTRACTS {
            return self.opaque(path, &name);
        }
        if let Some(typ) = typ
            && !matches!(typ.typ, TypeF::Contract(_))
        {
            return self.of_type(typ, Some(contract), env, path, depth);
        }
        let Some(evaluated) = self.eval(Closure { value: contract.contract.clone(), env: env.clone() }) else {
            return self.opaque(path, &name);
        };
        let label = contract.label.clone();
        match evaluated.value.content_ref() {
            ValueContentRef::Record(Container::Empty) => {
                self.of_record(&RecordData::default(), &evaluated.env, path, depth)
            }
            ValueContentRef::Record(Container::Alloc(record)) => {
                if self.within.iter().any(|outer| outer.phys_eq(&evaluated.value)) {
                    let mut schema = self.opaque(path, &format!("{name}, within itself"));
                    schema.insert("type".into(), json!("object"));
                    return schema;
                }
                self.within.push(evaluated.value.clone());
                let schema = self.of_record(record, &evaluated.env, path, depth);
                self.within.pop();
                schema
            }
            ValueContentRef::Type(data) => {
                let typ = data.typ.clone();
                let contract = RuntimeContract::new(evaluated.value.clone(), label);
                self.of_type(&typ, Some(&contract), &evaluated.env, path, depth)
            }
            _ => {
                if let Some((_, schema)) =
                    self.skeletons.known.iter().find(|(known, _)| known.phys_eq(&evaluated.value))
                {
                    return schema.clone();
                }
                let contract = RuntimeContract::new(evaluated.value.clone(), label);
                self.probed(&contract, &evaluated.env, path, depth, &name)
            }
        }
    }

    fn opaque(&mut self, path: &str, name: &str) -> Object {
        self.told.unsaid.push(json!({ "path": path, "what": name }));
        Object::new()
    }

    fn applied(&mut self, contract: &RuntimeContract, env: &Environment, to: &NickelValue) -> Option<Closure> {
        let value = contract.clone().apply(to.clone(), PosIdx::NONE);
        self.eval(Closure { value, env: env.clone() })
    }

    fn probed(
        &mut self,
        contract: &RuntimeContract,
        env: &Environment,
        path: &str,
        depth: usize,
        name: &str,
    ) -> Object {
        let text = self.skeletons.probe.at(Place::Alone);
        let Some(answer) = self.applied(contract, env, &text) else { return self.opaque(path, name) };
        // std.enum.TagOrString makes a tag of a text.
        let schema = if answer.value.as_enum_tag().is_some_and(|tag| tag.label() == PROBE) {
            Some(object(json!({ "type": "string" })))
        } else if self.refuses(contract, env, Place::Alone) {
            self.of_answer(&answer, path, depth)
        } else {
            None
        };
        match schema {
            Some(schema) if !self.accepts_more(contract, env, Place::Alone, &schema) => schema,
            _ => self.opaque(path, name),
        }
    }

    /// Of a value that a contract made of the probe.
    fn of_answer(&mut self, answer: &Closure, path: &str, depth: usize) -> Option<Object> {
        let part = |name: &str| {
            let value = field_of(&answer.value, name)?.value?;
            Some(Closure { value, env: answer.env.clone() })
        };
        let Some(Value::Object(mut schema)) = exported(self.context, part(SCHEMA)?) else { return None };
        if let Some(what) = part(BEYOND).and_then(|beyond| exported(self.context, beyond)) {
            self.told.beyond.push(json!({ "path": path, "what": what }));
        }
        let sound = part(SOUND).map(|sound| exported(self.context, sound));
        if sound.is_some_and(|sound| sound != Some(json!(true))) {
            let what = part(FAULT).and_then(|fault| exported(self.context, fault));
            let what = what.unwrap_or_else(|| json!("its contract can be applied to nothing"));
            self.told.faults.push(json!({ "path": path, "what": what, "late": true }));
        }
        if let Some(wrapped) = field_of(&answer.value, WRAPPED) {
            let said = self.of_field_contracts(&wrapped, &answer.env, path, depth + 1);
            let nullable = schema.remove("nullable");
            self.merge(&mut schema, said, path);
            schema.extend(nullable.map(|value| ("nullable".to_owned(), value)));
        }
        Some(schema)
    }

    /// What a contract makes of a value, or of the item of a list or map of it alone. None: it refuses the list or map.
    fn outcome(
        &mut self,
        contract: &RuntimeContract,
        env: &Environment,
        place: Place,
        value: NickelValue,
    ) -> Option<Result<Closure, EvalError>> {
        let value = contract.clone().apply(value, PosIdx::NONE);
        let whole = Closure { value, env: env.clone() };
        if let Place::Alone = place {
            return Some(self.context.machine().eval_closure(whole));
        }
        let applied = self.eval(whole)?;
        let value = match place {
            Place::List => match applied.value.as_array() {
                Some(Container::Alloc(data)) => data.array.get(0).cloned(),
                _ => None,
            },
            _ => field_of(&applied.value, "probe").and_then(|field| field.value),
        }?;
        Some(self.context.machine().eval_closure(Closure { value, env: applied.env }))
    }

    fn refuses(&mut self, contract: &RuntimeContract, env: &Environment, place: Place) -> bool {
        let refusal = self.skeletons.refusal.at(place);
        self.outcome(contract, env, place, refusal).is_some_and(is_refusal)
    }

    fn accepts_more(&mut self, contract: &RuntimeContract, env: &Environment, place: Place, schema: &Object) -> bool {
        let samples = self.skeletons.samples.iter();
        let refused: Vec<NickelValue> =
            samples.filter(|(_, value)| !may_be(schema, value)).map(|(sample, _)| sample.at(place)).collect();
        refused.into_iter().any(|value| matches!(self.outcome(contract, env, place, value), Some(Ok(_))))
    }

    fn of_type(
        &mut self,
        typ: &Type,
        contract: Option<&RuntimeContract>,
        env: &Environment,
        path: &str,
        depth: usize,
    ) -> Object {
        match &typ.typ {
            _ if depth > MAX_DEPTH => self.opaque(path, &typ.to_string()),
            TypeF::Number => object(json!({ "type": "number" })),
            TypeF::Bool => object(json!({ "type": "boolean" })),
            TypeF::String => object(json!({ "type": "string" })),
            TypeF::Dyn => object(json!({ "x-kubernetes-preserve-unknown-fields": true })),
            TypeF::Array(item) => {
                let inner = self.of_items(item, contract, env, &format!("{path}[]"), depth + 1, true);
                object(json!({ "type": "array", "items": inner }))
            }
            TypeF::Dict { type_fields, .. } => {
                let inner = self.of_items(type_fields, contract, env, &joined(path, "*"), depth + 1, false);
                object(json!({ "type": "object", "additionalProperties": inner }))
            }
            TypeF::Enum(_) => match tags(typ) {
                Some(words) => object(json!({ "type": "string", "enum": words })),
                None => {
                    let what = format!("{typ} takes tags with values, and JSON has none");
                    self.told.faults.push(json!({ "path": path, "what": what }));
                    Object::new()
                }
            },
            _ => self.opaque(path, &typ.to_string()),
        }
    }

    /// Of lists, or maps: the contract of each item. It is taken from a value that the whole contract was applied to,
    /// where it has the variables that it needs.
    fn of_items(
        &mut self,
        typ: &Type,
        contract: Option<&RuntimeContract>,
        env: &Environment,
        path: &str,
        depth: usize,
        is_list: bool,
    ) -> Object {
        if is_closed(typ) {
            return self.of_type(typ, None, env, path, depth);
        }
        let place = if is_list { Place::List } else { Place::Map };
        let skeleton = self.skeletons.probe.at(place);
        let applied = contract.and_then(|contract| Some((contract, self.applied(contract, env, &skeleton)?)));
        let Some((contract, applied)) = applied else { return self.opaque(path, &typ.to_string()) };
        let (pending, item) = if is_list {
            match applied.value.as_array() {
                Some(Container::Alloc(data)) => (data.pending_contracts.clone(), data.array.get(0).cloned()),
                _ => (Vec::new(), None),
            }
        } else {
            field_of(&applied.value, "probe")
                .map_or_else(Default::default, |field| (field.pending_contracts, field.value))
        };
        if let [only] = pending.as_slice() {
            return self.of_contract(Some(typ), only, &applied.env, path, depth);
        }
        // The contract of the items was applied at once.
        let answer = item.and_then(|value| self.eval(Closure { value, env: applied.env.clone() }));
        let is_refused = self.refuses(contract, env, place);
        match answer.filter(|_| is_refused).and_then(|answer| self.of_answer(&answer, path, depth)) {
            Some(schema) if !self.accepts_more(contract, env, place, &schema) => schema,
            _ => self.opaque(path, &typ.to_string()),
        }
    }

    fn of_record(&mut self, record: &RecordData, env: &Environment, path: &str, depth: usize) -> Object {
        let mut properties = Object::new();
        let mut required = Vec::new();
        for (name, field) in &record.fields {
            let inner = joined(path, name.label());
            let apart = self.apart(record, env, name.label(), path);
            let (field, env) = apart.as_ref().map_or((field, env), |(field, env)| (field, env));
            let (mut schema, is_required) = self.of_field(field, env, &inner, depth + 1);
            if let Some(doc) = field.metadata.0.as_ref().and_then(|metadata| metadata.doc.as_ref()) {
                schema.insert("description".into(), json!(doc.trim()));
            }
            if is_required {
                required.push(json!(name.label()));
            }
            properties.insert(name.label().to_owned(), Value::Object(schema));
        }
        let mut schema = object(json!({ "type": "object", "properties": properties }));
        if !required.is_empty() {
            schema.insert("required".into(), Value::Array(required));
        }
        if record.attrs.open {
            schema.insert("x-kubernetes-preserve-unknown-fields".into(), json!(true));
        }
        schema
    }

    /// A field of the record, where what an instance may set of the others is unknown. None: there is nothing of that.
    fn apart(
        &mut self,
        record: &RecordData,
        env: &Environment,
        name: &str,
        path: &str,
    ) -> Option<(Field, Environment)> {
        if self.others == Others::Known {
            return None;
        }
        let unknown = self.unknown_fields(record, env, Some(name), path, 0);
        if unknown.is_empty() {
            return None;
        }
        let others = NickelValue::record_posless(RecordData::with_field_values(unknown));
        let whole = NickelValue::record_posless(record.clone());
        let mode = MergeMode::Standard(Label::default().into());
        let merged = self.context.machine().merge(whole, env.clone(), others, Environment::new(), PosIdx::NONE, mode);
        let merged = self.eval(merged.ok()?)?;
        Some((field_of(&merged.value, name)?, merged.env))
    }

    /// A record to merge with this one, in which every field that an instance may set fails.
    fn unknown_fields(
        &mut self,
        record: &RecordData,
        env: &Environment,
        except: Option<&str>,
        path: &str,
        depth: usize,
    ) -> Vec<(LocIdent, NickelValue)> {
        let mut unknown = Vec::new();
        for (name, field) in &record.fields {
            if depth > MAX_DEPTH || except == Some(name.label()) {
                continue;
            }
            let inner = joined(path, name.label());
            let Some(value) = field.value.clone().filter(|_| !is_default(field)) else {
                unknown.push((*name, self.unknown(&inner)));
                continue;
            };
            let whole = RuntimeContract::apply_all(value, field.pending_contracts.iter().cloned(), PosIdx::NONE);
            let Some(evaluated) = self.eval(Closure { value: whole, env: env.clone() }) else { continue };
            let Some(Container::Alloc(nested)) = evaluated.value.as_record() else { continue };
            let fields = self.unknown_fields(nested, &evaluated.env, None, &inner, depth + 1);
            if !fields.is_empty() {
                let nested = NickelValue::record_posless(RecordData::with_field_values(fields));
                unknown.push((*name, self.context.vm.cache.add(nested.into(), BindingType::Normal).into()));
            }
        }
        unknown
    }

    /// A value that fails. Merging wants values that are not constants in the cache.
    fn unknown(&mut self, path: &str) -> NickelValue {
        let failure = EvalErrorKind::Other(format!("{UNKNOWN}{path}"), PosIdx::NONE);
        let value = NickelValue::from(Term::RuntimeError(Box::new(failure)));
        self.context.vm.cache.add(value.into(), BindingType::Normal).into()
    }

    /// Its schema, and whether it has to be there.
    fn of_field(&mut self, field: &Field, env: &Environment, path: &str, depth: usize) -> (Object, bool) {
        let mut schema = self.of_field_contracts(field, env, path, depth);
        let Some(value) = field.value.clone() else {
            return (schema, !field.metadata.0.as_ref().is_some_and(|metadata| metadata.opt));
        };
        if field.pending_contracts.is_empty()
            && let Some(nested) = self.nested(&value, env, path, depth)
        {
            let has_required = nested.contains_key("required");
            if !has_required {
                schema.insert("default".into(), json!({}));
            }
            self.merge(&mut schema, nested, path);
            return (schema, has_required);
        }
        let whole = RuntimeContract::apply_all(value, field.pending_contracts.iter().cloned(), PosIdx::NONE);
        let evaluated = self.context.machine().eval_full_for_export_closure(Closure { value: whole, env: env.clone() });
        match evaluated.map(|value| serde_json::to_value(&value)) {
            Ok(Ok(value)) => {
                if value.is_null() {
                    self.told.faults.push(json!({ "path": path, "what": NULL_DEFAULT, "late": true }));
                }
                if !is_default(field) {
                    schema.insert("enum".into(), json!([value]));
                }
                schema.insert("default".into(), value);
            }
            Ok(Err(error)) => self.told.faults.push(json!({ "path": path, "what": error.to_string() })),
            Err(error) => {
                let fault = match unknown_place(&error) {
                    Some(place) => json!({ "path": path, "what": computed(field, place), "computed": true }),
                    None => json!({ "path": path, "what": errors::failure(self.context, error.into()).message }),
                };
                self.told.faults.push(fault);
            }
        }
        (schema, false)
    }

    /// Of a field without contract whose value is a record with contracts: `image.tag | String`.
    fn nested(&mut self, value: &NickelValue, env: &Environment, path: &str, depth: usize) -> Option<Object> {
        let evaluated = self.eval(Closure { value: value.clone(), env: env.clone() })?;
        let Some(Container::Alloc(record)) = evaluated.value.as_record() else { return None };
        if !self.has_contracts(record, &evaluated.env, depth) {
            return None;
        }
        let record = record.clone();
        Some(self.of_record(&record, &evaluated.env, path, depth))
    }

    fn has_contracts(&mut self, record: &RecordData, env: &Environment, depth: usize) -> bool {
        depth <= MAX_DEPTH
            && record.fields.values().any(|field| {
                let Some(value) = &field.value else { return true };
                if field.metadata.0.as_ref().is_some_and(|metadata| !metadata.is_empty()) {
                    return true;
                }
                let inner = self.eval(Closure { value: value.clone(), env: env.clone() });
                inner.is_some_and(|inner| match inner.value.as_record() {
                    Some(Container::Alloc(record)) => self.has_contracts(record, &inner.env, depth + 1),
                    _ => false,
                })
            })
    }

    /// Both have to hold.
    fn merge(&mut self, into: &mut Object, mut from: Object, path: &str) {
        let mut apart = Object::new();
        if !takes_null(into) || !takes_null(&from) {
            into.remove("nullable");
            from.remove("nullable");
        }
        // A bound and whether it is exclusive belong together.
        for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            if into.contains_key(bound) && from.contains_key(bound) && into[bound] != from[bound] {
                let both = [bound, exclusive].into_iter();
                apart.extend(both.filter_map(|key| from.remove(key).map(|value| (key.to_owned(), value))));
            }
        }
        for (key, value) in from {
            let Some(there) = into.get_mut(&key) else {
                into.insert(key, value);
                continue;
            };
            if *there == value {
                continue;
            }
            match (key.as_str(), &mut *there, value) {
                ("type", there, value) => {
                    let numbers = [json!("integer"), json!("number")];
                    if numbers.contains(there) && numbers.contains(&value) {
                        *there = json!("integer");
                    } else {
                        let what = format!("its contracts exclude one another: no value is both {there} and {value}");
                        self.told.faults.push(json!({ "path": path, "what": what }));
                    }
                }
                ("x-kubernetes-validations" | "allOf", Value::Array(all), Value::Array(more)) => all.extend(more),
                (
                    "properties"
                    | "items"
                    | "additionalProperties"
                    | "required"
                    | "x-kubernetes-list-type"
                    | "x-kubernetes-list-map-keys",
                    _,
                    _,
                ) => {
                    self.told.unsaid.push(json!({ "path": path, "what": format!("a second contract on its {key}") }));
                }
                (_, _, value) => {
                    apart.insert(key.clone(), value);
                }
            }
        }
        if !apart.is_empty() {
            let all = into.entry("allOf").or_insert_with(|| json!([]));
            if let Some(all) = all.as_array_mut() {
                all.push(Value::Object(apart));
            }
        }
    }
}

/// Whether an instance may give it another value.
fn is_default(field: &Field) -> bool {
    field.metadata.0.as_ref().is_some_and(|metadata| matches!(metadata.priority, MergePriority::Bottom))
}

/// The place of the unknown value that an evaluation needed.
fn unknown_place(error: &EvalError) -> Option<&str> {
    match &error.error {
        EvalErrorKind::Other(words, _) => words.strip_prefix(UNKNOWN),
        _ => None,
    }
}

fn computed(field: &Field, from: &str) -> String {
    let value = if is_default(field) { "default" } else { "value" };
    format!(
        "its {value} is computed from {from}, and a CRD can't compute anything: make it optional, and compute it in the node"
    )
}

fn is_refusal(evaluated: Result<Closure, EvalError>) -> bool {
    match evaluated.err().map(|error| error.error) {
        Some(EvalErrorKind::BlameError { label, .. }) => {
            label.diagnostics.last().and_then(|diagnostic| diagnostic.message.as_deref()) == Some(REFUSED)
        }
        _ => false,
    }
}

fn takes_null(schema: &Object) -> bool {
    schema.get("nullable") == Some(&json!(true))
        || !schema.contains_key("type") && !schema.contains_key(EITHER) && !schema.contains_key("enum")
}

/// Whether a sample meets the schema, as far as it depends on type, bounds and words.
fn may_be(schema: &Object, sample: &Value) -> bool {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let is_set = |name: &str| schema.get(name) == Some(&json!(true));
    if sample.is_null() {
        return takes_null(schema);
    }
    let is_type = match schema.get("type").and_then(Value::as_str) {
        Some("integer") => sample.is_i64() || sample.is_u64(),
        Some("number") => sample.is_number(),
        Some("string") => sample.is_string(),
        Some("boolean") => sample.is_boolean(),
        Some("array") => sample.is_array(),
        Some("object") => sample.is_object(),
        _ => !is_set(EITHER) || sample.is_i64() || sample.is_u64() || sample.is_string(),
    };
    let is_word = match schema.get("enum") {
        Some(Value::Array(words)) => words.contains(sample),
        _ => true,
    };
    let in_range = sample.as_f64().is_none_or(|number| {
        bound("minimum").is_none_or(|least| number > least || number == least && !is_set("exclusiveMinimum"))
            && bound("maximum").is_none_or(|most| number < most || number == most && !is_set("exclusiveMaximum"))
    });
    is_type && is_word && in_range
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// The words of an enumeration of plain tags.
fn tags(typ: &Type) -> Option<Vec<String>> {
    let TypeF::Enum(rows) = &typ.typ else { return None };
    let mut words = Vec::new();
    for row in rows.iter() {
        match row {
            EnumRowsIteratorItem::Row(row) if row.typ.is_none() => words.push(row.id.label().to_owned()),
            _ => return None,
        }
    }
    Some(words)
}

/// Whether a type has no contract in it, so that it is known without any variable.
fn is_closed(typ: &Type) -> bool {
    match &typ.typ {
        TypeF::Number | TypeF::Bool | TypeF::String | TypeF::Dyn => true,
        TypeF::Array(item) => is_closed(item),
        TypeF::Dict { type_fields, .. } => is_closed(type_fields),
        _ => false,
    }
}
