//! Values made once for a whole process, without a lock.
//!
//! A fork copies a lock that another thread holds, and nobody in the child ever opens it. Here a value is made first
//! and then published by one atomic exchange: a fork finds it or does not, and whoever does not makes its own.
//! Cost of finding it: one load. Source: the racy cells of the crate `once_cell`.

use core::marker::PhantomData;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A place for such a value, meant for statics: what was ever published is never freed.
pub struct Published<T> {
    value: AtomicPtr<T>,
    owned: PhantomData<T>,
}

impl<T> Published<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { value: AtomicPtr::new(null_mut()), owned: PhantomData }
    }
}

impl<T> Default for Published<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync + 'static> Published<T> {
    /// The value. Of threads that come before there is one each makes it, and one of them publishes it.
    pub fn get(&self, make: impl Fn() -> T) -> &'static T {
        self.get_fitting(|_| true, make)
    }

    /// The value if it still fits, else a new one in its place; the old one stays valid for those who have it.
    pub fn get_fitting(&self, fits: impl Fn(&T) -> bool, make: impl Fn() -> T) -> &'static T {
        loop {
            let known = self.value.load(Ordering::Acquire);
            // SAFETY: what was published is never freed or changed, so the pointer is null or valid for ever.
            if let Some(value) = unsafe { known.as_ref() }
                && fits(value)
            {
                return value;
            }
            let fresh = Box::into_raw(Box::new(make()));
            if self.value.compare_exchange(known, fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: another thread published first; this one was never shared.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_find_one_value() {
        static VALUE: Published<Vec<usize>> = Published::new();
        let found: Vec<&Vec<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || VALUE.get(|| vec![i]))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(found.iter().all(|value| core::ptr::eq(*value, found[0])));
    }

    #[test]
    fn what_does_not_fit_is_replaced() {
        static VALUE: Published<u32> = Published::new();
        let old = VALUE.get(|| 1);
        assert_eq!((*old, *VALUE.get_fitting(|&value| value == 2, || 2), *VALUE.get(|| 3)), (1, 2, 2));
    }
}
