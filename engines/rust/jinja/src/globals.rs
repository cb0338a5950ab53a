//! Functions that templates can call: those of Jinja2 which the library lacks, and a few of ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use guest::{Tree, random};
use minijinja::value::{Kwargs, Object, Rest, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use crate::errors::carry;
use crate::filters::Arguments;
use crate::methods::invalid;

pub fn add_to(environment: &mut Environment, tree: &Arc<Tree>) {
    environment.add_function("cycler", |items: Rest<Value>| match items.is_empty() {
        true => Err(invalid("at least one item has to be provided".into())),
        false => Ok(Value::from_object(Cycler { items: items.0, place: AtomicUsize::new(0) })),
    });
    environment.add_function("joiner", minijinja_contrib::globals::joiner);
    environment.add_function("lipsum", lipsum);
    environment.add_function("raise", raise);
    environment.add_function("fail", raise);
    let tree = Arc::clone(tree);
    environment.add_function("file", move |path: &str| match tree.text(path) {
        Some(text) => text.map(str::to_owned).map_err(carry),
        None => Err(invalid(format!("the package has no file {path}"))),
    });
}

/// Gives its items in turn, for ever.
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    place: AtomicUsize,
}

impl Object for Cycler {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let place = self.place.load(Ordering::Relaxed) % self.items.len();
        (key.as_str() == Some("current")).then(|| self.items[place].clone())
    }

    fn call_method(self: &Arc<Self>, _: &mut State, method: &str, args: &[Value]) -> Result<Value, Error> {
        let (): () = from_args(args)?;
        match method {
            "next" => {
                let place = self.place.fetch_add(1, Ordering::Relaxed) % self.items.len();
                Ok(self.items[place].clone())
            }
            "reset" => {
                self.place.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::new(ErrorKind::UnknownMethod, format!("a cycler has no method {method}"))),
        }
    }
}

/// Ends the render with an error of the template's own.
fn raise(message: &str) -> Result<Value, Error> {
    Err(invalid(message.to_owned()))
}

/// Filler text, as Jinja2 makes it from its own words.
fn lipsum(positional: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    const WORDS: [&str; 24] = [
        "a", "ac", "amet", "ante", "arcu", "congue", "dolor", "duis", "elit", "erat", "est", "felis", "ipsum", "justo",
        "lorem", "magna", "nisi", "nunc", "orci", "quam", "sed", "sit", "urna", "vel",
    ];
    let arguments = Arguments::new(&["n", "html", "min", "max"], positional, named)?;
    let n: usize = arguments.get("n")?.unwrap_or(5);
    let html: bool = arguments.get("html")?.unwrap_or(true);
    let (min, max) = (arguments.get::<u64>("min")?.unwrap_or(20), arguments.get::<u64>("max")?.unwrap_or(100));
    let (min, max) = (min.min(10_000), max.min(10_000));
    arguments.done()?;
    let mut paragraphs = Vec::new();
    for _ in 0..n.min(1000) {
        let length = min + random::below(max.saturating_sub(min)).map_err(carry)?;
        let mut text = String::new();
        for number in 0..length {
            let word = WORDS[random::below(WORDS.len() as u64).map_err(carry)? as usize];
            if number > 0 {
                text.push(' ');
                text.push_str(word);
            } else {
                text.push_str(&word[..1].to_uppercase());
                text.push_str(&word[1..]);
            }
        }
        text.push('.');
        paragraphs.push(if html { format!("<p>{text}</p>") } else { text });
    }
    Ok(paragraphs.join("\n\n"))
}
