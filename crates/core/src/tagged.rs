//! Values of an open set of kinds. Plans and records keep each with the tag of its kind.

use std::{any::Any, ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// A value of some kind of `T`, a trait of `typetag`. Copies share it.
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

impl<T: ?Sized + Serialize> PartialEq for Tagged<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
    }
}

impl<T: ?Sized + Serialize> Serialize for Tagged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: ?Sized> Deserialize<'de> for Tagged<T>
where
    Box<T>: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<T>::deserialize(deserializer)?.into()))
    }
}
