//! The functions that may be a package's `generate`.

use serde::de::DeserializeOwned;

use crate::{Context, MistInput, MistResult};

/// A `generate` function: of the inputs alone, or of the inputs and the [`Context`].
///
/// Implemented for every `Fn(I) -> MistResult` and `Fn(I, Context) -> MistResult` with `I: DeserializeOwned`;
/// `Args` only tells the two apart.
pub trait Generate<Args> {
    /// Converts the values to the function's type and calls it.
    fn generate(&self, input: MistInput) -> MistResult;
}

impl<F, I> Generate<(I,)> for F
where
    F: Fn(I) -> MistResult,
    I: DeserializeOwned,
{
    fn generate(&self, input: MistInput) -> MistResult {
        self(input.data_into()?)
    }
}

impl<F, I> Generate<(I, Context)> for F
where
    F: Fn(I, Context) -> MistResult,
    I: DeserializeOwned,
{
    fn generate(&self, input: MistInput) -> MistResult {
        let data = input.data_into()?;
        self(data, input.context)
    }
}

/// Renders a package as a host would, from an input document in YAML or JSON; meant for the package's own tests.
///
/// ```
/// use mistletoe::{Context, MistOutput, MistResult, render};
///
/// #[derive(serde::Deserialize)]
/// struct Inputs {
///     name: String,
/// }
///
/// fn generate(inputs: Inputs, context: Context) -> MistResult {
///     let namespace = context.release.map_or("none".to_string(), |release| release.namespace);
///     Ok(MistOutput::new().with_message(format!("{} in {namespace}", inputs.name)))
/// }
///
/// let output = render(generate, "
///     apiVersion: mistletoe.dev/v1
///     kind: MistInput
///     data: { name: shop }
///     release: { name: shop, namespace: prod }
/// ")?;
/// assert_eq!(output.message(), Some("shop in prod"));
/// # Ok::<(), mistletoe::Error>(())
/// ```
pub fn render<Args>(generate: impl Generate<Args>, input: &str) -> MistResult {
    generate.generate(MistInput::parse(input)?)
}
