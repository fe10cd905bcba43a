mod faults;
mod gemini;
mod openai;
