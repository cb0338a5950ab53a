//! What a scalar without quotes means, by the rules of go-yaml v2, on which kubectl and Helm are built.

use serde_json::{Number, Value};

/// The value of a plain scalar; `Err` for a number that JSON, and so a Kubernetes object, can't hold.
pub fn resolve(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Value::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf"
        | "-.INF" => return Err(format!("{text} is a number that JSON can't hold")),
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return Ok(Value::from(text));
    }
    let plain = text.replace('_', "");
    if let Some(integer) = integer(&plain) {
        return Ok(Value::Number(integer));
    }
    if is_float(&plain) {
        let float = plain.parse::<f64>().ok().and_then(Number::from_f64);
        return float.map(Value::Number).ok_or_else(|| format!("{text} is a number that JSON can't hold"));
    }
    Ok(Value::from(text))
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return None;
    }
    let size = i128::from_str_radix(digits, radix).ok()?;
    let size = if negative { -size } else { size };
    i64::try_from(size).map(Number::from).or_else(|_| u64::try_from(size).map(Number::from)).ok()
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    are_digits(whole)
        && are_digits(fraction)
        && whole.len() + fraction.len() > 0
        && exponent.is_none_or(|exponent| {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !digits.is_empty() && are_digits(digits)
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resolves_as_go_yaml_does() {
        for (text, value) in [
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("~", json!(null)),
            ("10", json!(10)),
            ("010", json!(8)),
            ("0o10", json!(8)),
            ("0x1F", json!(31)),
            ("-0b11", json!(-3)),
            ("1_000", json!(1000)),
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!(18446744073709551616.0)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1.", json!(1.0)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("08", json!(8.0)),
            ("yEs", json!("yEs")),
            ("1.2.3", json!("1.2.3")),
            ("-", json!("-")),
            ("+-1", json!("+-1")),
            ("0x", json!("0x")),
            ("0x-1", json!("0x-1")),
            ("12:30", json!("12:30")),
            ("2020-01-01", json!("2020-01-01")),
            ("1e", json!("1e")),
        ] {
            assert_eq!(resolve(text), Ok(value), "{text}");
        }
        assert!(resolve(".inf").is_err() && resolve("1e999").is_err());
    }
}
