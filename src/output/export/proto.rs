//! Protocol buffers, as far as the two forms that are made of them need.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    /// A number.
    pub fn number(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.varint(value);
    }

    /// A signed number, in two's complement as `int64` has it.
    pub fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    /// Numbers, packed.
    pub fn packed(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let mut inner = Self::default();
        values.for_each(|v| inner.varint(v));
        self.message(field, &inner);
    }

    /// Bytes.
    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Text.
    pub fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    /// A message in this one.
    pub fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// The fields of another message.
    pub fn join(&mut self, fields: Self) {
        self.0.extend_from_slice(&fields.0);
    }

    /// What was written.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}
