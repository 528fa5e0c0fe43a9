//! Values of an open set of kinds. Plans and records keep each as `{"TAG": VALUE}`.

use std::{any::Any, collections::BTreeMap, fmt, ops::Deref, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::Error as _,
    ser::{Error as _, SerializeMap},
};
use serde_json::{Value, value::RawValue};
pub use {registry, serde_json};

/// A value as the [`Any`] that it is.
pub trait AsAny: Any {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Any> AsAny for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// What all kinds of a family have; [`kind!`](crate::kind) implements it.
pub trait Kind: AsAny + fmt::Debug + Send + Sync {
    fn tag(&self) -> &'static str;

    fn json(&self) -> serde_json::Result<Box<RawValue>>;
}

/// A trait whose implementations are told apart by their tags; [`family!`](crate::family) implements this for it.
pub trait Family: Kind {
    fn reader(tag: &str) -> Option<&'static Reader<Self>>;
}

/// Reads the values of one kind of a family.
pub struct Reader<T: ?Sized> {
    pub tag: &'static str,
    pub read: fn(Value) -> serde_json::Result<Arc<T>>,
}

/// Makes a trait a [`Family`].
#[macro_export]
macro_rules! family {
    ($trait:ident) => {
        $crate::tagged::registry::collect!($crate::tagged::Reader<dyn $trait>);

        impl $crate::tagged::Family for dyn $trait {
            fn reader(tag: &str) -> Option<&'static $crate::tagged::Reader<Self>> {
                $crate::tagged::registry::iter::<$crate::tagged::Reader<Self>>()
                    .find(|known| known.tag == tag)
            }
        }
    };
}

/// Registers a type as a kind of a family.
#[macro_export]
macro_rules! kind {
    ($tag:literal, $kind:ty as $family:ident) => {
        impl $crate::tagged::Kind for $kind {
            fn tag(&self) -> &'static str {
                $tag
            }

            fn json(
                &self,
            ) -> $crate::tagged::serde_json::Result<Box<$crate::tagged::serde_json::value::RawValue>> {
                $crate::tagged::serde_json::value::to_raw_value(self)
            }
        }

        $crate::tagged::registry::submit! {
            $crate::tagged::Reader::<dyn $family> {
                tag: $tag,
                read: |value| Ok(::std::sync::Arc::new($crate::tagged::serde_json::from_value::<$kind>(value)?)),
            }
        }
    };
}

/// A value of some kind of the family `T`. Copies share it.
#[derive(Debug)]
pub struct Tagged<T: ?Sized>(Arc<T>);

impl<T: ?Sized + AsAny> Tagged<T> {
    /// The value, if it is of this kind.
    pub fn get<K: Any>(&self) -> Option<&K> {
        (*self.0).as_any().downcast_ref()
    }

    pub fn is<K: Any>(&self) -> bool {
        self.get::<K>().is_some()
    }
}

impl<T: ?Sized> From<Arc<T>> for Tagged<T> {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

impl<T: ?Sized> Clone for Tagged<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for Tagged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized + Kind> PartialEq for Tagged<T> {
    fn eq(&self, other: &Self) -> bool {
        let json = |value: &Self| value.json().ok().map(|json| json.get().to_owned());
        Arc::ptr_eq(&self.0, &other.0) || self.tag() == other.tag() && json(self) == json(other)
    }
}

impl<T: ?Sized + Kind> Serialize for Tagged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.tag(), &self.json().map_err(S::Error::custom)?)?;
        map.end()
    }
}

impl<'de, T: ?Sized + Family> Deserialize<'de> for Tagged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let (Some((tag, value)), true) = (map.pop_first(), map.is_empty()) else {
            return Err(D::Error::custom("a value needs one tag"));
        };
        let reader = T::reader(&tag).ok_or_else(|| D::Error::custom(format!("unknown kind `{tag}`")))?;
        (reader.read)(value).map(Self).map_err(D::Error::custom)
    }
}
