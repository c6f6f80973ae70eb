//! The names that JavaScript calls: it asks for room for a question, writes it there, has it answered, and reads the answer.

use std::cell::RefCell;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a question of so many bytes, and says where.
#[expect(unsafe_code, reason = "a name for JavaScript, which no other function of the program has")]
#[unsafe(no_mangle)]
pub extern "C" fn question(length: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        *question = vec![0; length];
        question.as_mut_ptr()
    })
}

/// Answers the question, and says how many bytes the answer has.
#[expect(unsafe_code, reason = "a name for JavaScript, which no other function of the program has")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let answer = QUESTION.with_borrow(|question| crate::answer(question));
    ANSWER.replace(answer);
    ANSWER.with_borrow(Vec::len)
}

/// Where the answer is, until the next question.
#[expect(unsafe_code, reason = "a name for JavaScript, which no other function of the program has")]
#[unsafe(no_mangle)]
pub extern "C" fn answer_place() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
